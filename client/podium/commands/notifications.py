"""`podium notifications`: a person's inbox."""

from itertools import islice
from typing import Annotated

import typer

from podium.commands.options import AsJson, Profile, client
from podium.output import write_list

app = typer.Typer()


@app.command()
def notifications(
    unread: Annotated[bool, typer.Option("--unread", help="Only what you have not read.")] = False,
    mark_read: Annotated[bool, typer.Option("--mark-read", help="Mark them and all older ones as read.")] = False,
    most: Annotated[int, typer.Option("--most", min=1, help="How many at most.")] = 25,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """List what you were told: runs that ended, announcements, deadlines, invitations."""
    account = client(profile)
    inbox = list(islice(account.notifications(unread=unread), most))
    write_list(
        inbox,
        ["when (UTC)", "competition", "what", ""],
        lambda each: (each.created_at, each.competition, each.subject, "" if each.is_read else "new"),
        as_json=as_json,
    )
    if mark_read and inbox:
        account.notifications_read(inbox[0].id)

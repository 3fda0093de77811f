"""Teams and invitations."""

from __future__ import annotations

from typing import Annotated

import typer

from podium.commands.options import AsJson, Profile, Slug, client, require_consent
from podium.output import say, write_json, write_table

app = typer.Typer(help="Your team: show, create, leave, invite, invitations, accept, decline.", no_args_is_help=True)
Key = Annotated[str, typer.Argument(help="The invitation's key, as `podium team invitations` lists it.")]


@app.command()
def show(slug: Slug, profile: Profile = "", as_json: AsJson = False) -> None:
    """Show your team."""
    team = client(profile).team(slug)
    if as_json:
        write_json(team)
        return
    print(team.name)
    write_table(["member", ""], [(name, "captain" if name == team.captain else "") for name in team.members])


@app.command()
def create(slug: Slug, name: Annotated[str, typer.Argument(help="The team's name.")], profile: Profile = "") -> None:
    """Make a team, as its captain."""
    say(f"Your team is {client(profile).team_create(slug, name).name}.")


@app.command()
def leave(
    slug: Slug, yes: Annotated[bool, typer.Option("--yes", help="Without being asked.")] = False, profile: Profile = ""
) -> None:
    """Leave your team."""
    require_consent(f"Leave your team in {slug}?", yes=yes, option="--yes")
    client(profile).team_leave(slug)


@app.command()
def invite(
    slug: Slug, person: Annotated[str, typer.Argument(help="User name or address.")], profile: Profile = ""
) -> None:
    """Invite somebody to your team."""
    say(f"{client(profile).invite(slug, person).person} is invited.")


@app.command()
def invitations(profile: Profile = "", as_json: AsJson = False) -> None:
    """List the invitations that wait for your answer."""
    pending = client(profile).invitations()
    if as_json:
        write_json(pending)
        return
    write_table(
        ["key", "team", "competition", "until (UTC)"],
        [(invitation.key, invitation.team, invitation.competition, invitation.expires_at) for invitation in pending],
    )


@app.command()
def accept(key: Key, profile: Profile = "") -> None:
    """Accept an invitation."""
    say(f"You are in {client(profile).invitation_answer(key, accept=True).team}.")


@app.command()
def decline(key: Key, profile: Profile = "") -> None:
    """Decline an invitation."""
    client(profile).invitation_answer(key, accept=False)

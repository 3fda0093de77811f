"""Teams and invitations."""

from typing import Annotated

import typer

from podium.commands.options import AsJson, Profile, Slug, client, require_consent
from podium.output import write_json, write_list, write_result, write_table, write_text

app = typer.Typer(help="Your team: show, create, leave, invite, invitations, accept, decline.", no_args_is_help=True)
Key = Annotated[str, typer.Argument(help="The invitation's key, as `podium team invitations` lists it.")]


@app.command()
def show(slug: Slug, profile: Profile = "", as_json: AsJson = False) -> None:
    """Show your team."""
    team = client(profile).team(slug)
    if as_json:
        write_json(team)
        return
    write_text(team.name)
    write_table(["member", ""], [(name, "captain" if name == team.captain else "") for name in team.members])


@app.command()
def create(
    slug: Slug,
    name: Annotated[str, typer.Argument(help="The team's name.")],
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Make a team, as its captain."""
    team = client(profile).team_create(slug, name)
    write_result(team, f"Your team is {team.name}.", as_json=as_json)


@app.command()
def leave(
    slug: Slug,
    yes: Annotated[bool, typer.Option("--yes", help="Without being asked.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Leave your team."""
    require_consent(f"Leave your team in {slug}?", yes=yes, option="--yes")
    client(profile).team_leave(slug)
    write_result({"competition": slug}, f"You have left your team in {slug}.", as_json=as_json)


@app.command()
def invite(
    slug: Slug,
    person: Annotated[str, typer.Argument(help="User name or address.")],
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Invite somebody to your team."""
    invitation = client(profile).invite(slug, person)
    write_result(invitation, f"{invitation.person} is invited.", as_json=as_json)


@app.command()
def invitations(profile: Profile = "", as_json: AsJson = False) -> None:
    """List the invitations that wait for your answer."""
    write_list(
        client(profile).invitations(),
        ["key", "team", "competition", "until (UTC)"],
        lambda invitation: (invitation.key, invitation.team, invitation.competition, invitation.expires_at),
        as_json=as_json,
    )


@app.command()
def accept(key: Key, profile: Profile = "", as_json: AsJson = False) -> None:
    """Accept an invitation."""
    invitation = client(profile).invitation_answer(key, accept=True)
    write_result(invitation, f"You are in {invitation.team}.", as_json=as_json)


@app.command()
def decline(key: Key, profile: Profile = "", as_json: AsJson = False) -> None:
    """Decline an invitation."""
    invitation = client(profile).invitation_answer(key, accept=False)
    write_result(invitation, f"You have declined the invitation of {invitation.team}.", as_json=as_json)

"""Finding, joining and downloading competitions."""

from pathlib import Path
from typing import Annotated

import typer

from podium.commands.options import AsJson, Profile, Slug, client, read_pairs, require_consent
from podium.errors import InvalidInput
from podium.output import say, transfer_bar, write_json, write_list, write_result, write_table, write_text

app = typer.Typer()


@app.command("list")
def list_competitions(profile: Profile = "", as_json: AsJson = False) -> None:
    """List the competitions that you can see."""
    write_list(
        list(client(profile).competitions()),
        ["name", "title", "host", "registration"],
        lambda competition: (competition.slug, competition.title, competition.host, competition.registration_policy),
        as_json=as_json,
    )


@app.command()
def show(slug: Slug, profile: Profile = "", as_json: AsJson = False) -> None:
    """Show a competition with its phases."""
    competition = client(profile).competition(slug)
    if as_json:
        write_json(competition)
        return
    write_text(competition.title)
    if competition.subtitle:
        write_text(competition.subtitle)
    write_table(
        ["phase", "opens", "closes", "accepts", "scores"],
        [
            (
                phase.slug,
                phase.opens_at,
                phase.closes_at or "never",
                ", ".join(phase.kinds),
                "sealed" if phase.is_sealed else "shown",
            )
            for phase in competition.phases
        ],
    )


@app.command()
def join(
    slug: Slug,
    team: Annotated[str, typer.Option(help="Make a team of this name, too.")] = "",
    answer: Annotated[list[str], typer.Option(help="KEY=VALUE for each question of the registration.")] = [],  # noqa: B006  # typer reads it
    accept_rules: Annotated[bool, typer.Option(help="Accept the rules without being asked.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Register for a competition by accepting its rules."""
    me = client(profile)
    competition = me.competition(slug)
    if competition.rules_version is None:
        raise InvalidInput(f"{slug} has no rules yet, so nobody can join.")
    rules = f"{me.site.url}/competitions/{slug}/rules/"
    require_consent(
        f"Accept version {competition.rules_version} of the rules on {rules}?",
        yes=accept_rules,
        option="--accept-rules",
    )
    registration = me.join(slug, rules_version=competition.rules_version, answers=read_pairs(answer))
    created = me.team_create(slug, team) if team and registration.state == "approved" else None
    text = f"Your registration is {registration.state}." + (f" Your team is {created.name}." if created else "")
    write_result({"registration": registration, "team": created}, text, as_json=as_json)


@app.command()
def download(
    slug: Slug,
    folder: Annotated[Path, typer.Option("--to", help="Into this folder.")] = Path(),
    only: Annotated[list[str], typer.Option("--file", help="This file alone; may be repeated.")] = [],  # noqa: B006  # typer reads it
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Download a competition's files; files that share a name go to PHASE/NAME/.

    Files that are there are checked and left; broken downloads go on.
    """
    me = client(profile)
    offered = me.files(slug)
    if unknown := set(only) - {file.file_name for file in offered}:
        listed = ", ".join(file.file_name for file in offered) or "none"
        raise InvalidInput(f"{slug} has no file {min(unknown)!r}; it has: {listed}.")
    files = [file for file in offered if not only or file.file_name in only]
    fetched: list[dict[str, object]] = []
    for file in files:
        with transfer_bar(file.file_name) as progress:
            path = me.download(file, folder, progress=progress)
        fetched.append({**file.model_dump(mode="json"), "path": str(path)})
        if not as_json:
            write_text(str(path))
    if as_json:
        write_json(fetched)
    elif not files:
        say(f"{slug} offers no files.")

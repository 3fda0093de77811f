"""Reading leaderboards."""

import sys
from typing import Annotated

import typer

from podium.commands.options import AsJson, PhaseName, Profile, Slug, client
from podium.errors import InvalidInput
from podium.models import Row
from podium.output import printable_lines, write_json, write_table

app = typer.Typer()


@app.command()
def leaderboard(
    slug: Slug,
    phase: PhaseName = "",
    board: Annotated[str, typer.Option(help="Key of the board; the phase's main one if not given.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 50,
    csv: Annotated[bool, typer.Option("--csv", help="All rows, as CSV.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Show a leaderboard, best first."""
    if csv and as_json:
        raise InvalidInput("--csv and --json are two forms of the same board. Give one of them.")
    me = client(profile)
    if csv:
        text = me.leaderboard_csv(slug, phase=phase, board=board)
        print(printable_lines(text) if sys.stdout.isatty() else text, end="")
        return
    ranking = me.leaderboard(slug, phase=phase, board=board, limit=limit)
    if as_json:
        write_json(ranking)
        return
    sure = ["±", "ranks", "tier"] if ranking.uncertainty else []
    rows = [
        (
            row.rank or "baseline",
            row.team,
            *(row.scores.get(column.key, "") for column in ranking.columns),
            *(_uncertainty(row) if sure else ()),
            row.submissions,
        )
        for row in ranking.rows
    ]
    write_table(["rank", "team", *(column.title for column in ranking.columns), *sure, "submissions"], rows)


def _uncertainty(row: Row) -> tuple[str, str, str]:
    """Half of the score's interval, the ranks that the data allow, and the tier."""
    uncertainty = row.uncertainty
    if uncertainty is None:
        return "", "", ""
    ranks = "" if uncertainty.first_rank is None else f"{uncertainty.first_rank} to {uncertainty.last_rank}"
    return uncertainty.half_width, ranks, "" if uncertainty.tier is None else str(uncertainty.tier)

"""`podium run`: the site's verdict, on this machine."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from podium.commands.local import needing
from podium.commands.options import AsJson, PhaseName, Profile, Slug, client
from podium.output import say, write_json, write_table, write_text

if TYPE_CHECKING:
    from podium.rehearsal import Verdict
    from workers.projection import Interval, Projection

app = typer.Typer()
MINUTE_S: Final = 60


@app.command()
def run(
    slug: Slug,
    path: Annotated[Path, typer.Argument(help="A folder with your program, or the zip of one.")],
    phase: PhaseName = "",
    weights: Annotated[
        Path | None, typer.Option(help="A file of weights, for the code to find in /app/weights.")
    ] = None,
    image: Annotated[
        str, typer.Option(help="The code's image: an archive of `docker save`, or registry/repository@sha256:…")
    ] = "",
    mirror: Annotated[
        str, typer.Option(help="A package index to install requirements.txt from, in place of the site's mirror.")
    ] = "",
    calibrate: Annotated[
        bool, typer.Option(help="Measure this machine first, to say what the run takes at the site.")
    ] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Run code as the site would, on the phase's public mini split.

    Image, limits and verdict are the site's, containers are on this machine.
    """
    with needing("run"):
        from files.code_check import OwnEnvironment
        from podium.rehearsal import rehearse
    own = OwnEnvironment(weights, image, mirror)
    verdict = rehearse(client(profile), slug, path, phase=phase, own=own, calibrate=calibrate)
    if as_json:
        write_json(asdict(verdict))
    else:
        show(verdict)
    if verdict.outcome != "finished":
        raise typer.Exit(1)


def show(verdict: "Verdict") -> None:
    """Print the score or the verdict, the meters and the projected time as results.

    Logs and remarks go to standard error.
    """
    for stage, log in verdict.logs.items():
        say(f"--- {stage}\n{log.rstrip()}")
    for line in (*verdict.notes, *verdict.remarks):
        say(line)
    if verdict.outcome == "finished":
        write_table(["column", "score on the mini split"], list(verdict.scores.items()))
    else:
        write_text(f"{verdict.reason} ({verdict.code}): {verdict.detail}")
    if verdict.meters:
        write_table(["meter", "value"], [(name, _number(value)) for name, value in verdict.meters.items()])
    if verdict.projection is not None:
        print("\n".join(_sentences(verdict.projection)))


def _sentences(projection: "Projection") -> list[str]:
    """The time that the run takes on the site, in words."""
    lines = [f"On the site's hardware: {_interval(projection.smoke_s)}."]
    if (whole := projection.whole) is not None:
        limit = _seconds(projection.limit_s)
        verdicts = {
            "within": f"That is within the limit of {limit}.",
            "over": f"That is over the limit of {limit}.",
            "unclear": f"The limit is {limit}: whether the code stays within it depends on how long the start-up takes.",
        }
        lines.append(
            f"On the hidden data: at least {_seconds(whole.least_s)}, if all of that was start-up (imports, loading a model), and at most "
            f"{_seconds(whole.most_s)}, if all of it grows with the data. {verdicts[whole.verdict(projection.limit_s)]}"
        )
    return lines


def _interval(interval: "Interval") -> str:
    return f"about {_seconds(interval.middle)}, between {_seconds(interval.low)} and {_seconds(interval.high)}"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < 2 * MINUTE_S else f"{value / MINUTE_S:.0f} min"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"

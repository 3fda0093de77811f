"""The skill for agents that use the program."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from podium.commands.options import AsJson
from podium.output import say, write_json

app = typer.Typer()


@app.command()
def skill(
    to: Annotated[
        Path | None, typer.Option(help="Write it to podium/SKILL.md in this folder, where the agent looks for skills.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print how an agent takes part, as SKILL.md; or install it."""
    text = files("podium").joinpath("SKILL.md").read_text()
    if to is None:
        write_json({"skill": text}) if as_json else typer.echo(text, nl=False)
        return
    path = to / "podium" / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    write_json({"path": str(path)}) if as_json else say(f"Written to {path}.")

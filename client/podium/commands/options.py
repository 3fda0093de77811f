"""Options that several verbs have."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from podium.client import Client
from podium.errors import InvalidInput

Profile = Annotated[str, typer.Option(help="The site of this name, as given to `podium login`; else the last one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Slug = Annotated[str, typer.Argument(metavar="COMPETITION", help="The competition's name in its address.")]
PhaseName = Annotated[
    str, typer.Option("--phase", help="The phase's name in its address; not needed where one is open.")
]
Number = Annotated[int, typer.Argument(metavar="ID", help="Number of the submission.")]


def client(profile: str) -> Client:
    """Signed in by a profile or by the environment."""
    return Client(profile=profile)


def require_consent(question: str, *, yes: bool, option: str) -> None:
    """Ask where somebody can answer. Raises `InvalidInput` where nobody can, `typer.Abort` for a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody can be asked here: say it with {option}.")
    typer.confirm(question, abort=True)

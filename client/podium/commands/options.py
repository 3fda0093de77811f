"""Options that several verbs have."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from podium.client import Client
from podium.errors import InvalidInput, Refused
from podium.output import printable

INTERRUPTED: Final = 130  # as shells say it
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


def read_pairs(pairs: list[str]) -> dict[str, str]:
    """Answers by key. Raises `InvalidInput`."""
    split = [pair.partition("=") for pair in pairs]
    if wrong := next((pair for pair, (_, sign, _) in zip(pairs, split, strict=True) if not sign), None):
        raise InvalidInput(f"{wrong!r} is not an answer: write KEY=VALUE.")
    return {key: value for key, _, value in split}


def require_consent(question: str, *, yes: bool, option: str) -> None:
    """Ask where somebody can answer. Raises `InvalidInput` where nobody can, `Refused` for a no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} There is nobody to ask here: say it with {option}.")
    with answering():
        if not typer.confirm(printable(question), err=True):
            raise Refused("Nothing was done.", code="declined")


@contextmanager
def answering() -> Iterator[None]:
    """End the program as Ctrl-C does elsewhere, where it is the answer to a question."""
    try:
        yield
    except typer.Abort as abort:
        raise typer.Exit(INTERRUPTED) from abort

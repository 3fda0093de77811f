"""The program `podium`, for participants and organizers. What runs a site is `manage.py`.

Exit status: 0 done; 1 the run failed or was refused, or a file cannot be read or written; 2 wrong use or input; 3 not signed in or
not allowed; 4 the site cannot be reached; 130 interrupted.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated

import typer
from typer import TyperException

from podium.commands import (
    accounts,
    boards,
    code,
    competitions,
    environments,
    local,
    notifications,
    running,
    submissions,
    teams,
)
from podium.errors import PodiumError
from podium.output import say

WRONG_USE = 2  # the exit status, also of wrong input
app = typer.Typer(name="podium", no_args_is_help=True, pretty_exceptions_enable=False)
for group in (accounts, competitions, submissions, running, boards, notifications, local):
    app.registered_commands += group.app.registered_commands
app.add_typer(teams.app, name="team")
app.add_typer(code.app, name="competition")
app.add_typer(environments.weights, name="weights")
app.add_typer(environments.images, name="images")
app.add_typer(local.image, name="image")


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"podium {version('podium-client')}")
        raise typer.Exit


@app.callback()
def podium(
    is_version_asked: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Machine-learning competitions, from the command line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status.

    With `--json` an error is written to standard output: `{"error": {"code": …, "message": …, "exit_status": …}}`, with the site's
    other fields.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    try:
        ended = app(words, prog_name="podium", standalone_mode=not as_json)
    except PodiumError as error:
        return _report(error.exit_code, str(error), as_json=as_json, code=error.code, extra=error.extra)
    except TyperException as error:  # wrong use; without --json the library says it
        return _report(error.exit_code, error.format_message(), as_json=as_json, code="wrong_use")
    except OSError as error:
        return _report(1, _sentence(error), as_json=as_json, code="file_error")
    except SystemExit as end:  # the way in which the library ends every command
        ended = end.code
    return ended if isinstance(ended, int) else int(ended is not None)


def _report(status: int, text: str, *, as_json: bool, code: str, extra: Mapping[str, object] | None = None) -> int:
    if as_json:
        code = code or ("wrong_use" if status == WRONG_USE else "refused")
        print(json.dumps({"error": {**(extra or {}), "code": code, "message": text, "exit_status": status}}))
    else:
        say(f"podium: {text}{f' [{code}]' if code else ''}")
    return status


def _sentence(error: OSError) -> str:
    """The system's words on a file, without its error number."""
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)

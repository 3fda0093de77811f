"""The program `podium`, for participants and organizers. What runs a site is `manage.py`.

Exit status: 0 done; 1 the run failed or was refused, or a file cannot be read or written; 2 wrong use or input; 3 not signed in or
not allowed; 4 the site cannot be reached; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

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

app = typer.Typer(
    name="podium",
    help="Machine-learning competitions, from the command line.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for group in (accounts, competitions, submissions, running, boards, notifications, local):
    app.registered_commands += group.app.registered_commands
app.add_typer(teams.app, name="team")
app.add_typer(code.app, name="competition")
app.add_typer(environments.weights, name="weights")
app.add_typer(environments.images, name="images")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    try:
        app(list(argv) if argv is not None else None, prog_name="podium")
    except PodiumError as error:
        print(f"podium: {error}{f' [{error.code}]' if error.code else ''}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"podium: {_sentence(error)}", file=sys.stderr)
        return 1
    except SystemExit as ended:  # the way in which the library ends every command
        return ended.code if isinstance(ended.code, int) else 1
    return 0


def _sentence(error: OSError) -> str:
    """The system's words on a file, without its error number."""
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)

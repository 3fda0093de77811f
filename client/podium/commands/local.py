"""Verbs that need no site: they run the parts of Podium that the site itself runs, where these are installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import typer

from podium.client import Client
from podium.commands.options import PhaseName, Profile, Slug, client
from podium.errors import InvalidInput

app = typer.Typer()
ANY: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def tool(module: str) -> Callable[..., int]:
    """The `main` of another part of Podium. Raises `InvalidInput` where it is not installed."""
    main: Callable[..., int] = part(module, extra="tables").main
    return main


def part(module: str, *, extra: str) -> Any:
    """A module of another part of Podium. Raises `InvalidInput` where it, or what it stands on, is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise not_installed(error, extra=extra) from error


def not_installed(error: ModuleNotFoundError, *, extra: str) -> InvalidInput:
    """What to do about a module that is missing, as an error."""
    return InvalidInput(
        f"This needs {error.name}, which is not installed: in a checkout of Podium, run `pip install '.[{extra}]'`.",
        code="not_installed",
    )


@app.command(
    context_settings=ANY, help="Score and check files with the official metrics; `podium score --help` says how."
)
def score(context: typer.Context) -> None:
    raise typer.Exit(tool("scoring.cli")(context.args, prog="podium score"))


@app.command(
    context_settings=ANY, help="Check, begin and send competitions as bundles; `podium bundle --help` says how."
)
def bundle(context: typer.Context) -> None:
    raise typer.Exit(tool("files.bundles.cli")(context.args, prog="podium bundle"))


@app.command(
    context_settings=ANY, help="Rebuild a revealed leaderboard from its manifest; `podium verify --help` says how."
)
def verify(context: typer.Context) -> None:
    raise typer.Exit(tool("files.manifest")(context.args))


@app.command(context_settings=ANY, help="Say what the images hold that submissions run in: `podium image describe`.")
def image(context: typer.Context) -> None:
    raise typer.Exit(tool("workers.protocol.runtimes")(context.args))


@app.command()
def check(
    slug: Slug,
    file: Annotated[Path, typer.Argument(help="A file of predictions.")],
    phase: PhaseName = "",
    profile: Profile = "",
) -> None:
    """Check a file as the site does after an upload, without sending it."""
    site = client(profile)
    chosen = site.phase(slug, phase)
    prediction_format = chosen.prediction_format
    if prediction_format is None:
        raise InvalidInput(
            f"{chosen.slug} takes any zip: there is nothing to check before it is scored.", code="no_format"
        )
    with TemporaryDirectory() as folder:
        if "table" in prediction_format:
            arguments = [
                "table",
                str(file),
                *_table_arguments(site, slug, chosen.slug, prediction_format["table"], Path(folder)),
            ]
        else:
            arguments = [str(prediction_format["dataset"]), str(file), "--split", str(prediction_format["split"])]
            if prediction_format.get("rows") is not None:
                arguments += ["--rows", str(prediction_format["rows"])]
        code = tool("scoring.cli")(["check", *arguments], prog="podium score")
    raise typer.Exit(code)


def _table_arguments(site: Client, slug: str, phase: str, table: dict[str, Any], folder: Path) -> list[str]:
    """What the table must look like, and the phase's sample submission, fetched into the folder."""
    schema = folder / "schema.json"
    schema.write_text(json.dumps(table), "utf-8")
    samples = [file for file in site.files(slug) if (file.phase, file.name) == (phase, "sample_submission")]
    shown = [part for file in samples for part in ("--sample", str(site.download(file, folder)))]
    return ["--schema", str(schema), *shown]

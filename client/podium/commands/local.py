"""Verbs that need no site: they run what the site itself runs, which the client's extras bring.

That is heavy, so it is imported by the verb that uses it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from podium.client import Client
from podium.commands.options import AsJson, PhaseName, Profile, Slug, client
from podium.errors import InvalidInput, PodiumError
from podium.output import say, transfer_bar, write_json
from podium.site import Site
from podium.uploads import uploaded

if TYPE_CHECKING:
    from files.bundles.cli import AskImport, ImportJob
    from files.bundles.samples import Sample
    from scoring.tables.schema import SchemaDocument

app = typer.Typer()
image = typer.Typer(help="The images that submissions run in.", no_args_is_help=True)
ANY: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Guard imports of an extra of the client. Raises `InvalidInput` where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"This needs {error.name}, which is not installed: in a checkout of Podium, run `pip install . './client[{extra}]'`.",
            code="not_installed",
        ) from error


@app.command(
    context_settings=ANY, help="Score and check files with the official metrics; `podium score --help` says how."
)
def score(context: typer.Context) -> None:
    with needing("score"):
        from scoring.cli import main
    raise typer.Exit(main(context.args, prog="podium score"))


@app.command(
    context_settings=ANY, help="Check, begin and send competitions as bundles; `podium bundle --help` says how."
)
def bundle(context: typer.Context) -> None:
    with needing("run"):
        from files.bundles.cli import main
    raise typer.Exit(main(context.args, prog="podium bundle", find_fault=sample_fault, send=send_bundle))


def send_bundle(site_url: str, token: str, path: Path, queue: str) -> "AskImport":
    """Send a bundle, in parts that go on after a break; returns a call that asks how far its import is."""
    site = Site(site_url, token)
    with transfer_bar(path.name) as progress, uploaded(site, path, progress) as key:
        number = int(site.post("bundles/", {"upload": key, "queue": queue})["id"])
    return lambda: cast("ImportJob", site.get(f"bundles/{number}/"))


def sample_fault(sample: "Sample") -> str:
    """The fault of a sample submission; without the extra `score` the site says it when it gets the file."""
    try:
        from scoring.tables.commands import find_sample_fault
    except ModuleNotFoundError:
        say(
            f"{sample.path.name} is not read here, for the extra `score` is not installed; the site reads it when it is sent."
        )
        return ""
    solution = None if sample.solution is None else (str(sample.solution), sample.solution.name)
    schema = cast("SchemaDocument", sample.schema)
    return find_sample_fault(str(sample.path), sample.path.name, schema, solution).get("message", "")


@app.command(
    context_settings=ANY, help="Rebuild a revealed leaderboard from its manifest; `podium verify --help` says how."
)
def verify(context: typer.Context) -> None:
    with needing("run"):
        from files.arguments import Parser
        from files.manifest import main
        from files.snapshots import verify_snapshot
    raise typer.Exit(main(context.args, parser_type=Parser, verify_snapshot=verify_snapshot))


@image.command()
def describe(
    name: Annotated[str, typer.Argument(metavar="[IMAGE]", help="Such as podium/runtime:1; without one: all.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say what an image holds that Podium makes."""
    with needing("run"):
        from workers.protocol.images import PACKAGES, image_contents
    contents = {
        image: image_contents(image) for image in ([name] if name else [f"{package}:1" for package in PACKAGES])
    }
    if not all(contents.values()):
        raise PodiumError(
            f"{name} is not an image that Podium makes. Ask the organizers who named it what it holds.",
            code="unknown_image",
        )
    if as_json:
        write_json(dict(contents))
    else:
        print("\n".join(contents.values()))


@app.command()
def check(
    slug: Slug,
    file: Annotated[Path, typer.Argument(help="A file of predictions.")],
    phase: PhaseName = "",
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Check a file as the site does after an upload, without sending it."""
    site = client(profile)
    chosen = site.phase(slug, phase, file_name=file.name)
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
        with needing("score"):
            from scoring.cli import main
        code = main(["check", *arguments, *(["--json"] if as_json else [])], prog="podium score")
    raise typer.Exit(code)


def _table_arguments(site: Client, slug: str, phase: str, table: dict[str, Any], folder: Path) -> list[str]:
    """Options for the table's schema, and for the phase's sample submission, which is fetched."""
    schema = folder / "schema.json"
    schema.write_text(json.dumps(table), "utf-8")
    samples = [file for file in site.files(slug) if (file.phase, file.name) == (phase, "sample_submission")]
    shown = [part for file in samples for part in ("--sample", str(site.download(file, folder)))]
    return ["--schema", str(schema), *shown]


@app.command()
def skill(
    to: Annotated[
        Path | None, typer.Option(help="Write it to podium/SKILL.md in this folder, where the agent looks for skills.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print how an agent takes part, as SKILL.md; or install it."""
    text = resources.files("podium").joinpath("SKILL.md").read_text()
    if to is None:
        write_json({"skill": text}) if as_json else typer.echo(text, nl=False)
        return
    path = to / "podium" / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    write_json({"path": str(path)}) if as_json else say(f"Written to {path}.")

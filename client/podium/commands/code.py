"""`podium competition`: a competition as a folder in git."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from podium.commands.local import needing, sample_fault
from podium.commands.options import AsJson, Profile, Slug, client, require_consent
from podium.errors import InvalidInput, Refused
from podium.files import cache_dir
from podium.folders import Folder
from podium.models import Push
from podium.output import say, transfer_bar, write_json, write_result, write_table, write_text
from podium.pushing import Pull, apply, compare, difference_lines, fetch_export

if TYPE_CHECKING:
    from workers.local import LocalRun

app = typer.Typer(help="Competitions as code: a folder in git.", no_args_is_help=True)
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="The competition's folder.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Without being asked, as in a CI service.")]
Force = Annotated[
    bool, typer.Option(help="Also where others changed the competition since: their changes are taken back.")
]
SlugOption = Annotated[
    str, typer.Option("--slug", help="The competition's name in its address, where the folder names none.")
]


@app.command()
def init(
    folder: FolderArgument,
    template: Annotated[str, typer.Option(help="table, results, code, datasets or concurrent.")] = "table",
    slug: SlugOption = "",
    as_json: AsJson = False,
) -> None:
    """Begin a competition from a template, with small data that were made up."""
    with needing("run"):
        from files.bundles.cli import main
    words = ["new", str(folder), "--template", template, "--slug", slug or folder.resolve().name]
    raise typer.Exit(main([*words, *(["--json"] if as_json else [])]))


@app.command()
def check(folder: FolderArgument = Path(), profile: Profile = "", as_json: AsJson = False) -> None:
    """Say every fault of the folder, as the site reads it. Without the extra `run`, the site is asked."""
    try:
        from files.bundles.cli import main
    except ModuleNotFoundError:
        me, opened = client(profile), Folder(folder)
        say(f"Podium's readers are not installed here, so {me.site.url} is asked; nothing is changed there.")
        _show(compare(me.site, opened, is_forced=False, bars=transfer_bar, notify=say), as_json=as_json)
        return
    words = ["check", str(folder), *(["--json"] if as_json else [])]
    raise typer.Exit(main(words, find_fault=sample_fault))


@app.command()
def run(
    folder: FolderArgument = Path(),
    file: Annotated[Path | None, typer.Option(help="A submission; else the phase's sample submission.")] = None,
    phase: Annotated[str, typer.Option(help="The phase's name in its address; else the first.")] = "",
    image: Annotated[str, typer.Option(help="Another image than the competition's.")] = "",
    weights: Annotated[Path | None, typer.Option(help="A team's file of weights, for its code.")] = None,
    own_image: Annotated[
        str,
        typer.Option(help="A team's image, for its code: an archive of `docker save`, or registry/repository@sha256:…"),
    ] = "",
    mirror: Annotated[
        str, typer.Option(help="A package index to install the code's requirements.txt from; else the public one.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Score a submission on this machine, in a compute worker's containers.

    Shows the scores, and what the programs print.
    """
    with needing("run"):
        from files.bundles.local_jobs import local_jobs
        from files.code_check import OwnEnvironment
        from podium.rehearsal import CANNOT_RUN, require_environment
        from workers.local import has_gpu, run_locally
    own = OwnEnvironment(weights, own_image, mirror)
    require_environment(own)
    with TemporaryDirectory() as scratch:
        try:
            planned = local_jobs(folder.resolve(), Path(scratch), file=file, phase=phase, image=image, own=own)
            if any(local.job.gpus for local in planned) and not has_gpu():
                say("The phase gives its code a GPU, and this machine has none: it runs without one here.")
                planned = [local._replace(job=local.job.model_copy(update={"gpus": 0})) for local in planned]
            built = cache_dir() / "environments"  # once for all tasks
            ended = [(task, run_locally(job, environments=built, any_mirror=True)) for task, job in planned]
        except CANNOT_RUN as error:
            raise InvalidInput(str(error), code="cannot_run") from error
    if as_json:
        write_json(
            [{"task": task, "logs": dict(run.logs), **run.result.model_dump(mode="json")} for task, run in ended]
        )
    else:
        for task, finished in ended:
            _show_run(task, finished)
    if any(finished.result.outcome != "finished" for _, finished in ended):
        raise typer.Exit(1)


def _show_run(task: str, run: "LocalRun") -> None:
    """Print a worker's report on one task with all logs: who has the folder may read them."""
    result = run.result
    for stage, log in run.logs.items():
        say(f"--- {task}: {stage}\n{log.rstrip()}")
    for note in result.notes:
        say(note)
    if result.outcome == "finished":
        write_table(["task", "column", "score"], [(task, key, value) for key, value in (result.scores or {}).items()])
    else:
        write_text(f"{task}: {result.reason} ({result.code}): {result.detail}")
        if result.code.startswith("image_"):
            say("Make Podium's own images in its checkout with `make images`, or name another with --image.")
    for record in result.stages:
        say(f"{record.name}: {record.wall_s or 0:.1f} s")


@app.command()
def push(
    folder: FolderArgument = Path(),
    yes: Yes = False,
    force: Force = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Show the differences from the site, then change the competition there, or make it.

    Large files are sent once, in parts.
    """
    me, opened = client(profile), Folder(folder)
    compared = compare(me.site, opened, is_forced=force, bars=transfer_bar, notify=say)
    if not as_json or not compared.changes:
        _show(compared, as_json=as_json)
    if not compared.changes:
        opened.remember(site=me.site.url, version=compared.version)
        return
    if compared.is_stale and not force:
        raise Refused(
            f"Others changed {compared.slug} on the site since this folder was made from it; the difference above takes that back. "
            "Run `podium competition pull` and merge, or push with --force.",
            code="changed_since",
        )
    target = compared.slug if compared.version else f"the new competition {compared.slug}, a draft"
    require_consent(f"Apply this to {target} on {me.site.url}?", yes=yes, option="--yes")
    applied = apply(me.site, opened, compared, notify=say)
    write_result(applied, f"Done: {me.site.url}/competitions/{applied.slug}/", as_json=as_json)


def _show(push: Push, *, as_json: bool) -> None:
    if as_json:
        write_json(push)
        return
    write_text("\n".join(difference_lines(push)) or f"Nothing differs from {push.slug} on the site.")


@app.command()
def pull(
    folder: FolderArgument = Path(),
    slug: SlugOption = "",
    yes: Yes = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Write what is live into the folder. Labels come to those alone who organize the competition."""
    me, opened = client(profile), Folder(folder)
    opened.path.mkdir(parents=True, exist_ok=True)
    fetched = Pull(me.site, opened, slug or opened.slug, bars=transfer_bar)
    if fetched.replaced:
        listed = ", ".join(fetched.replaced[:10]) + (" and more" if len(fetched.replaced) > 10 else "")
        require_consent(f"Replace {listed} in {opened.path}?", yes=yes, option="--yes")
    replaced, unnamed = fetched.replaced, fetched.write()
    answer = {"folder": str(opened.path), "replaced": replaced, "no_longer_named": unnamed}
    lines = [f"No longer named: {name}" for name in unnamed]
    text = "\n".join([*lines, f"{opened.path} is as {slug or opened.slug} on {me.site.url}."])
    write_result(answer, text, as_json=as_json)


@app.command()
def export(
    slug: Slug,
    to: Annotated[Path, typer.Option(help="The folder to write the zip to.")] = Path(),
    keys: Annotated[bool, typer.Option(help="Name programs and data by their keys on this site.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Write a competition as a bundle for other sites.

    Says why Codabench would refuse it, and what it does otherwise.
    """
    me = client(profile)
    path, export = fetch_export(me.site, slug, to, with_files=not keys, bars=transfer_bar, notify=say)
    refusals, gaps = export.codabench_refusals, export.codabench_gaps
    lines = [f"Codabench would refuse it: {sentence}" for sentence in refusals]
    lines += [f"Otherwise on Codabench: {sentence}" for sentence in gaps]
    text = "\n".join([*lines, f"Written: {path}"])
    write_result({"file": str(path), "codabench_refusals": refusals, "codabench_gaps": gaps}, text, as_json=as_json)


def _require_faultless(folder: Path) -> None:
    """Raise `InvalidInput` with every fault of the folder, as `check` says them."""
    try:
        from files.bundles.samples import check_bundle
    except ModuleNotFoundError:  # without the extra `run`; the site refuses such a folder at a push
        return
    if faults := check_bundle(folder, sample_fault).faults:
        raise InvalidInput("Nothing was published:\n" + "\n".join(map(str, faults)), code="invalid_bundle")


@app.command()
def publish(
    folder: FolderArgument = Path(),
    slug: SlugOption = "",
    anyway: Annotated[
        bool, typer.Option(help="Although something cannot work yet; rules and a phase there must be.")
    ] = False,
    at: Annotated[
        str, typer.Option(help="An instant, such as 2027-03-01T09:00Z, at which it is published by itself.")
    ] = "",
    take_back: Annotated[bool, typer.Option("--take-back", help="End what --at planned: it stays a draft.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Show the competition to everybody, now or at an instant, unless its folder has a fault."""
    if at and take_back:
        raise InvalidInput("--at plans the publication and --take-back ends the plan. Give one of them.")
    if not slug and not take_back:
        _require_faultless(folder)
    me = client(profile)
    name = slug or Folder(folder).slug
    if take_back:
        me.site.call("DELETE", f"competitions/{name}/publish/")
        write_result({"slug": name, "publish_at": None}, f"{name} is not published by itself.", as_json=as_json)
        return
    answer = me.site.post(f"competitions/{name}/publish/", {"anyway": anyway} | ({"at": at} if at else {}))
    page, planned = f"{me.site.url}/competitions/{name}/", answer.get("publish_at")
    text = f"It will be published at {planned}: {page}" if planned else f"Published: {page}"
    write_result({"slug": name, "url": page, "publish_at": planned}, text, as_json=as_json)

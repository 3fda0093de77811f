"""`podium bundle`: check a bundle, begin one from a template, send one to a site. No Django."""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypedDict

from pydantic import TypeAdapter

from files.arguments import Parser
from files.bundles.archive import zip_folder
from files.bundles.faults import YAML_NAME, Report
from files.bundles.samples import FindFault, check_bundle
from files.bundles.schema import SLUG_PATTERN

STARTERS: Final = Path(__file__).with_name("starters")
POLL_S: Final = 1.0  # how often the site is asked how far it is


class ImportJob(TypedDict, total=False):
    """An import as the site's API says it."""

    state: str
    step: str
    url: str
    detail: str
    report: object


AskImport = Callable[[], ImportJob]
Send = Callable[[str, str, Path, str], AskImport]  # site, token, zip and queue; a call that asks how far the import is


def main(
    argv: Sequence[str], prog: str = "podium bundle", *, find_fault: FindFault | None = None, send: Send | None = None
) -> int:
    """Exit status 0, or 1 when the bundle has faults or nothing could be written or sent.

    `find_fault` reads sample submissions, and `send` sends a file to a site; both come from the client.
    """
    chosen = _parser(prog).parse_args(list(argv))
    chosen.find_fault, chosen.send = find_fault, send
    try:
        status: int = chosen.run(chosen)
    except (BundleRefused, OSError) as error:
        if chosen.json:
            code = "refused" if isinstance(error, BundleRefused) else "file_error"
            print(json.dumps({"error": {"code": code, "message": str(error), "exit_status": 1}}))
        else:
            print(f"{prog}: {error}", file=sys.stderr)
        return 1
    return status


class BundleRefused(Exception):
    """Nothing was written or sent; the text says why."""


def templates() -> list[str]:
    """The names that `new --template` knows."""
    return sorted(path.name for path in STARTERS.iterdir() if (path / "competition.yaml").is_file())


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(prog=prog, description="Check, begin and send competition bundles.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="say every fault of a bundle, with file, line and what would be right")
    check.add_argument("file", type=Path, help="a zip or a folder")
    check.add_argument("--json", action="store_true", help="print the report as JSON")
    check.set_defaults(run=_check)
    new = commands.add_parser("new", help="begin a bundle from a template")
    new.add_argument("dest", type=Path, help="a folder that does not exist yet")
    new.add_argument("--template", choices=templates(), default="results")
    new.add_argument("--slug", default="", help="the competition's name in its address, by which a push finds it")
    new.add_argument("--json", action="store_true", help="print JSON")
    new.set_defaults(run=_new)
    send = commands.add_parser("import", help="send a bundle to a site; the new competition is a draft")
    send.add_argument("file", type=Path, help="a zip or a folder")
    send.add_argument("--site", required=True, help="for instance https://podium.example.org")
    send.add_argument("--token-file", type=Path, required=True, help="a file with an API token of the scope `organize`")
    send.add_argument("--queue", default="", help="name of the queue that runs its submissions")
    send.add_argument("--json", action="store_true", help="print the report as JSON")
    send.set_defaults(run=_import)
    return parser


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
        return
    print("\n".join(report.lines()) or "Nothing to remark.")
    print("It cannot be imported." if report.faults else "It can be imported.")


def _check(chosen: argparse.Namespace) -> int:
    report = check_bundle(chosen.file, chosen.find_fault)
    _print(report, as_json=chosen.json)
    return 1 if report.faults else 0


def _new(chosen: argparse.Namespace) -> int:
    dest: Path = chosen.dest
    if chosen.slug and not re.fullmatch(SLUG_PATTERN, chosen.slug):
        raise BundleRefused(
            f"The address {chosen.slug!r} may hold letters from a to z, digits, - and _ alone; give another as --slug."
        )
    if dest.exists() and any(dest.iterdir()):
        raise BundleRefused(f"{dest} is not empty; give a folder that does not exist yet.")
    source = STARTERS / chosen.template
    today = datetime.now(UTC).date()
    for file in sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        target = dest / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (
            file.read_text().replace("2027-01-01", str(today)).replace("2027-12-31", str(today + timedelta(days=364)))
        )
        if chosen.slug and file == source / YAML_NAME:
            text += f"podium:\n  slug: {json.dumps(chosen.slug)}\n"
        target.write_text(text)
    next_step = f"pack it with `cd {dest} && zip -r ../bundle.zip .`, or import the folder as it is."
    if chosen.slug:
        next_step = (
            f"look at it with `podium competition check {dest}`, and send it with `podium competition push {dest}`."
        )
    answer = {"folder": str(dest), "template": chosen.template, "slug": chosen.slug}
    print(json.dumps(answer, indent=2) if chosen.json else f"{dest}: {next_step}")
    return 0


def _import(chosen: argparse.Namespace) -> int:
    token = chosen.token_file.read_text("utf-8-sig", errors="replace").strip()
    report = check_bundle(chosen.file, chosen.find_fault)
    if report.faults:
        _print(report, as_json=chosen.json)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        packed = _packed(chosen.file, Path(scratch))
        print(f"Sending {packed.stat().st_size:,} bytes", file=sys.stderr)
        ask = chosen.send(chosen.site, token, packed, chosen.queue)
    print("It was sent, and the site imports it.", file=sys.stderr)
    return _print_result(chosen, _follow(ask))


def _packed(source: Path, scratch: Path) -> Path:
    """The zip to send. The same folder is the same file, so that an upload of it can go on."""
    if source.is_file():
        return source
    print("Packing", file=sys.stderr)
    target = scratch / f"{source.resolve().name or 'bundle'}.zip"
    zip_folder(source, target)
    newest_ns = max((path.stat().st_mtime_ns for path in source.rglob("*") if path.is_file()), default=0)
    os.utime(target, ns=(newest_ns, newest_ns))
    return target


def _print_result(chosen: argparse.Namespace, job: ImportJob) -> int:
    """Print what became of an import."""
    is_made = job["state"] == "finished"
    if chosen.json:
        print(json.dumps(job, indent=2))
        return 0 if is_made else 1
    print("\n".join(TypeAdapter(Report).validate_python(job["report"] or {}).lines()))
    print(chosen.site.rstrip("/") + job["url"] if is_made else "It was not imported, and nothing was created.")
    return 0 if is_made else 1


def _follow(ask: AskImport) -> ImportJob:
    """Wait for the import's end, and print its progress. Raises what `ask` raises."""
    last = ""
    while True:
        job = ask()
        if job["state"] in ("finished", "failed"):
            return job
        if job["step"] not in ("", last):
            last = job["step"]
            print(last, file=sys.stderr)
        time.sleep(POLL_S)

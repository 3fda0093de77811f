"""Reading of an import's files in processes of their own, with kernel limits on memory and time."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from django.conf import settings

from core.background.bounded import Bounds, Call, OverBounds, run_bounded
from core.background.rows import RENEWALS
from core.refusals import InvalidFile
from files.archives import check_zip
from files.bundles.archive import LIMITS, BundleFiles, unpack
from files.bundles.faults import invalid
from files.bundles.samples import Sample


@contextmanager
def unpacked(
    source: Path, *, name: str, is_wanted: Callable[[], bool], beside: Mapping[str, Path] | None = None
) -> Iterator[Path]:
    """The folder of an unpacked zip, known to people as `name`, with the files `beside` it in place.

    Every zip inside has been read once, too, so reading it again stays within the bounds. `is_wanted` is asked now and
    then; when it says no, `Stopped` is raised.

    Raises `InvalidBundle` for a zip that must not be unpacked, or that costs too much.
    """
    bounds = Bounds(
        wall_s=settings.IMPORT_WALL_S, cpu_s=settings.IMPORT_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES
    )
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        try:
            work = partial(_unpack, source, Path(folder), beside or {})
            fault = run_bounded(work, bounds, is_wanted=is_wanted, every_s=settings.BACKGROUND_LEASE_S / RENEWALS)
        except OverBounds as error:
            text = f"It took more {error.what} to read than an import may use. Leave out what is not needed, or import it in parts."
            raise invalid(text, file=name) from error
        if fault:
            raise invalid(fault, file=name)
        yield Path(folder)


def _unpack(source: Path, folder: Path, beside: Mapping[str, Path]) -> str:
    """In the child: the fault of the zip, empty if none. The import reports faults of zips inside it."""
    try:
        unpack(source, folder)
    except InvalidFile as error:
        return error.detail
    files = BundleFiles(folder)
    for relative, path in beside.items():
        target = files.path(relative)
        if target is None or target == files.folder or target.exists():
            return f"The path {relative[:200]!r} leads outside the folder, or is named twice."
        target.parent.mkdir(parents=True, exist_ok=True)
        _place(path, target)
    for path in folder.rglob("*.zip"):
        with suppress(InvalidFile):
            check_zip(path, limits=LIMITS, what=path.name)
    return ""


def _place(path: Path, target: Path) -> None:
    """A stored file is never written to, so on one file system no copy is needed."""
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)


FIND_FAULT = "scoring.tables.commands:find_sample_fault"


def sample_fault(sample: Sample) -> str:
    """The fault of a sample submission; empty for a right one."""
    solution = None if sample.solution is None else (str(sample.solution), sample.solution.name)
    arguments = {"path": str(sample.path), "file_name": sample.path.name, "schema": sample.schema, "solution": solution}
    bounds = Bounds(wall_s=settings.CHECK_WALL_S, cpu_s=settings.CHECK_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES)
    try:
        # The claim on the work is kept by a thread of its own, so nobody has to be asked.
        answer = run_bounded(
            Call(FIND_FAULT, arguments), bounds, is_wanted=lambda: True, every_s=settings.BACKGROUND_LEASE_S
        )
    except OverBounds as error:
        return f"{sample.path.name} took more {error.what} to read than a check may use"
    return str(answer.get("message", ""))

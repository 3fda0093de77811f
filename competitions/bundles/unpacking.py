"""Unpacking the zip of an import in a process of its own, with bounds of memory and processor time that the kernel keeps."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from django.conf import settings

from competitions.bundles.reading.archive import LIMITS, unpack
from competitions.bundles.reading.faults import invalid
from competitions.resources.archives import check_zip
from core.background.bounded import Bounds, OverBounds, run_bounded
from core.background.rows import RENEWALS
from core.refusals import InvalidFile


@contextmanager
def unpacked(source: Path, *, name: str, wanted: Callable[[], bool]) -> Iterator[Path]:
    """The folder of a zip that people know by `name`. Every zip inside has been read once, too, so what an import does with them
    again costs no more than the bounds. `wanted` is asked now and then; when it says no, `Stopped` is raised.

    Raises `InvalidBundle` for a zip that must not be unpacked, or that costs too much.
    """
    bounds = Bounds(
        wall_s=settings.IMPORT_WALL_S, cpu_s=settings.IMPORT_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES
    )
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        try:
            work = partial(_unpack, source, Path(folder))
            fault = run_bounded(work, bounds, wanted=wanted, every_s=settings.BACKGROUND_LEASE_S / RENEWALS)
        except OverBounds as error:
            text = f"It took more {error.what} to read than an import may use. Leave out what is not needed, or import it in parts."
            raise invalid(text, file=name) from error
        if fault:
            raise invalid(fault, file=name)
        yield Path(folder)


def _unpack(source: Path, folder: Path) -> str:
    """In the child: what is wrong with the zip, empty if nothing. What is wrong with those inside, the import says with their place."""
    try:
        unpack(source, folder)
    except InvalidFile as error:
        return error.detail
    for path in folder.rglob("*.zip"):
        with suppress(InvalidFile):
            check_zip(path, limits=LIMITS, what=path.name)
    return ""

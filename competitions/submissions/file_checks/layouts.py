"""Layout of a submitted dataset: one folder for algorithms to read, one to score them against."""

import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from django.conf import settings

from competitions.resources.storage import CHUNK_BYTES
from core.refusals import InvalidFile

INPUT, REFERENCE = "input_data", "reference_data"
ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)  # so that the same files give the same zip


def check_folders(names: Collection[str], file_name: str) -> None:
    """Raise `InvalidFile` unless the zip has files in `input_data` and `reference_data` at its top level."""
    for folder in (INPUT, REFERENCE):
        if not any(name.startswith(f"{folder}/") for name in names):
            raise InvalidFile(
                f"no_{folder}",
                f"The dataset {file_name!r} has no files in {folder}/ at its top level. Put what algorithms read into {INPUT}/ and what "
                f"they are scored against into {REFERENCE}/; do not pack the two into a further folder.",
            )


@contextmanager
def divided(path: Path) -> Iterator[tuple[Path, Path]]:
    """The two folders of a checked dataset as zips, with the same bytes whenever they are made."""
    Path(settings.UPLOADS_DIR).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.UPLOADS_DIR, prefix="spool-") as folder:
        targets = Path(folder) / f"{INPUT}.zip", Path(folder) / f"{REFERENCE}.zip"
        with zipfile.ZipFile(path) as source:
            for name, target in zip((INPUT, REFERENCE), targets, strict=True):
                _copy(source, name, target)
        yield targets


def _copy(source: zipfile.ZipFile, folder: str, target: Path) -> None:
    """The members below `folder`, named without it."""
    prefix = f"{folder}/"
    members = {member.filename: member for member in source.infolist() if member.filename.startswith(prefix)}
    with zipfile.ZipFile(target, "w") as archive:
        for name in sorted(name for name in members if not name.endswith("/")):
            info = zipfile.ZipInfo(name.removeprefix(prefix), ZIP_TIME)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with source.open(members[name]) as read, archive.open(info, "w", force_zip64=True) as written:
                while chunk := read.read(CHUNK_BYTES):
                    written.write(chunk)

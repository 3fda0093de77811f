"""Facts about a winner's zip for the organizers: its files, and how many numbers it could carry along."""

import re
import zipfile
from collections.abc import Iterable
from typing import Final

from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy
from competitions.winners.comparison import UNREADABLE, CannotCompare
from workers.protocol.texts import printable

MAX_LISTED: Final = 100
MAX_READ_BYTES: Final = 64 * 1024 * 1024  # of all files together, to count their numbers
BYTES_OF_A_NUMBER: Final = 4  # single precision, as official files of predictions have
_NUMBER: Final = re.compile(rb"\d+(?:\.\d+)?")


def code_facts(stored: StoredFile, *, predictions: int) -> dict[str, object]:
    """The largest files with sizes, and the number of constants beside that of predictions.

    Constants are numbers written in texts, and those that other files have room for. Raises `CannotCompare` for an
    unreadable zip.
    """
    with local_copy(stored) as path:
        try:
            with zipfile.ZipFile(path) as archive:
                infos = [info for info in archive.infolist() if not info.is_dir()]
                constants = _constants(archive, infos)
        except UNREADABLE as error:
            raise CannotCompare(f"The code bundle cannot be read: {error}") from error
    largest = sorted(infos, key=lambda info: -info.file_size)[:MAX_LISTED]
    return {
        "files": [[printable(info.filename)[:200], info.file_size] for info in largest],
        "file_count": len(infos),
        "bytes": sum(info.file_size for info in infos),
        "constants": constants,
        "predictions": predictions,
    }


def _constants(archive: zipfile.ZipFile, infos: Iterable[zipfile.ZipInfo]) -> int:
    """Count the numbers in the smallest files; a file beyond the bound counts by its size."""
    left, constants = MAX_READ_BYTES, 0
    for info in sorted(infos, key=lambda info: info.file_size):
        if info.file_size > left:
            constants += info.file_size // BYTES_OF_A_NUMBER
            continue
        left -= info.file_size
        constants += _constants_in(archive.read(info))
    return constants


def _constants_in(content: bytes) -> int:
    if b"\0" in content or not _is_utf8(content):
        return len(content) // BYTES_OF_A_NUMBER
    return sum(1 for _ in _NUMBER.finditer(content))


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True

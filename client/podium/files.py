"""Files that the client keeps for one person, and digests of files."""

import hashlib
import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path


def cache_dir() -> Path:
    """The folder of interrupted uploads, files of `podium run` and environments."""
    return user_cache_path("podium")


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(path: Path, text: str) -> None:
    """Write a file in one piece, readable by nobody else at any moment.

    Where that is broken off, the file stays as it was.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")  # made with 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

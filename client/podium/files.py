"""Files that the client keeps for one person, digests of files, and folders packed into one."""

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from podium.errors import InvalidInput

ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the same folder is the same zip
LEFT_OUT: Final = ("__pycache__", ".git", ".venv", ".ipynb_checkpoints")


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


def packed(path: Path, scratch: Path) -> Path:
    """The zip to run or to send: the file, or a folder with its files at the top.

    Raises `InvalidInput`.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise InvalidInput(f"There is no file or folder {str(path)!r}.", code="no_file")
    target, newest_ns = scratch / f"{path.resolve().name or 'code'}.zip", 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path.rglob("*")):
            inside = file.relative_to(path)
            if file.is_file() and not set(inside.parts) & set(LEFT_OUT):
                info, status = zipfile.ZipInfo(inside.as_posix(), ZIP_TIME), file.stat()
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (status.st_mode & 0o777) << 16
                archive.writestr(info, file.read_bytes())
                newest_ns = max(newest_ns, status.st_mtime_ns)
    os.utime(target, ns=(newest_ns, newest_ns))  # the same folder is the same file for an upload that goes on
    return target

"""Files that the client keeps for one person, digests of files, and folders packed into one."""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from podium.errors import InvalidInput

ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the same folder is the same zip
SECRETS: Final = (".env*", ".netrc", ".aws", ".ssh", ".podium")  # often lie beside code, and are for nobody else
# In small letters: on some disks .GIT is .git.
LEFT_OUT: Final = ("__pycache__", "__macosx", ".ds_store", ".git", ".venv", ".ipynb_checkpoints", *SECRETS)


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
        for file in _files_inside(path):
            info, status = zipfile.ZipInfo(zip_name(file.relative_to(path)), ZIP_TIME), file.stat()
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (status.st_mode & 0o777) << 16
            archive.writestr(info, file.read_bytes())
            newest_ns = max(newest_ns, status.st_mtime_ns)
    os.utime(target, ns=(newest_ns, newest_ns))  # the same folder is the same file for an upload that goes on
    return target


def _files_inside(folder: Path) -> Iterator[Path]:
    """The files to pack. Raises `InvalidInput` for links to the outside, and for pipes and devices."""
    root = Path(os.path.realpath(folder))
    for file in sorted(folder.rglob("*")):
        if is_left_out(file.relative_to(folder)):
            continue
        target = Path(os.path.realpath(file))
        if not target.is_relative_to(root):
            raise InvalidInput(
                f"{str(file)!r} is a link to something outside the folder, which is not sent. Put a copy in its place, or remove it.",
                code="link_outside",
            )
        if is_left_out(target.relative_to(root)):  # by a link with another name
            continue
        if target.is_file():
            yield file
        elif not target.is_dir():
            raise InvalidInput(f"{str(file)!r} is neither a file nor a folder. Remove it.", code="no_plain_file")


def zip_name(inside: Path) -> str:
    """The name of a file in the zip of its folder. Raises `InvalidInput` for one that no zip can hold."""
    name = inside.as_posix()
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The name {name!a} is not UTF-8, so it cannot be packed. Rename the file.", code="bad_name"
        ) from error
    return name


def is_left_out(inside: Path) -> bool:
    """True for what no folder is packed with: leavings of programs, and what often holds secrets."""
    return any(fnmatchcase(part.lower(), pattern) for part in inside.parts for pattern in LEFT_OUT)

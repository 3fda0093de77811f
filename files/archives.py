"""Checking a zip before anything unpacks it: names, links, sizes, counts, checksums.

The limits hold for what the archive *declares* and for what comes out of it, by a byte counter. What an archive declares is
cheap to read and bounded before it is parsed (`check_directory`); reading it through is for background processes (`check_zip`).
"""

import hashlib
import io
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from files.refusals import InvalidFile
from workers.protocol.files.host_faults import raise_host_fault
from workers.protocol.texts import fault_text, first_fault, is_text_name

CHUNK_BYTES = 1024 * 1024
MAX_DEPTH = 64
# What Python's zipfile raises for damaged archives, found by damaging them (see the tests).
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 2048
ENTRY_SIGNATURE = b"PK\x01\x02"


@dataclass(frozen=True)
class ArchiveLimits:
    """The most that an archive may hold."""

    unpacked_bytes: int = 10 * 1024**3
    files: int = 20_000  # and folders, also those that only the paths of files name
    ratio: int = 1000  # unpacked / packed; text of one repeated byte reaches about 1030


@dataclass(frozen=True)
class DirectoryBounds:
    """The part of an archive's directory that is read at all: reading costs time before any check."""

    size_bytes: int
    entries: int


# What a web request reads: some 10 ms. A larger directory waits for the background check.
IN_A_REQUEST = DirectoryBounds(size_bytes=256 * 1024, entries=1000)


def _bounds_for(limits: ArchiveLimits) -> DirectoryBounds:
    """The largest directory of an archive within these limits, with paths of a few hundred bytes."""
    return DirectoryBounds(size_bytes=64 * 1024 + limits.files * 800, entries=limits.files)


class DirectoryTooLarge(Exception):
    """An archive's directory is beyond the bounds, and was not read."""


class _BoundedFile(io.FileIO):
    """A file of which zipfile reads no directory beyond the bounds: it loads one by a single read."""

    def __init__(self, path: Path, bounds: DirectoryBounds) -> None:
        super().__init__(path)
        self.bounds: DirectoryBounds | None = bounds  # None: the directory has been read

    def read(self, size: int | None = -1, /) -> bytes:
        if self.bounds is not None and size is not None and size > self.bounds.size_bytes:
            raise DirectoryTooLarge
        data = super().read(size) or b""
        if self.bounds is not None and data.count(ENTRY_SIGNATURE) > self.bounds.entries:
            raise DirectoryTooLarge
        return data


def look_at_zip(path: Path, *, limits: ArchiveLimits, what: str) -> list[str] | None:
    """Check a zip in a web request, as `check_directory`; None where its directory is too large."""
    try:
        return check_directory(path, limits=limits, what=what, bounds=IN_A_REQUEST)
    except DirectoryTooLarge:
        return None


def check_zip(path: Path, *, limits: ArchiveLimits, what: str) -> list[str]:
    """Refuse a zip that cannot or must not be unpacked; returns the names of its files. Reads all of it.

    Parameters
    ----------
    path : file to check.
    what : how to call it in messages, for instance "The submission 'model.zip'".

    Raises
    ------
    InvalidFile
        `not_a_zip`, `zip_bad_name`, `zip_truncated`, `zip_encrypted`, `zip_path_outside`, `zip_link`, `zip_duplicate_name`,
        `zip_too_many_files`, `zip_too_large`, `zip_crc_error`, `zip_empty`.
    """
    return check_directory(path, limits=limits, what=what, reads_through=True)


def check_directory(
    path: Path,
    *,
    limits: ArchiveLimits,
    what: str,
    bounds: DirectoryBounds | None = None,
    reads_through: bool = False,
) -> list[str]:
    """Refuse a zip for its declared names, links, sizes and counts. Returns the names of its files.

    Unpacks nothing, unless it `reads_through`. Raises `InvalidFile` as `check_zip`, and `DirectoryTooLarge` where
    `bounds` are given.
    """
    with _BoundedFile(path, bounds or _bounds_for(limits)) as file:
        try:
            archive = _open(file, path, what)
        except DirectoryTooLarge as error:
            if bounds is not None:
                raise
            raise _too_many(limits, what) from error
        with archive:
            members = _checked_members(archive, path, limits, what)
            if reads_through:
                _read_through(archive, members, limits, what)
    return list(dict.fromkeys(member.filename for member in members))


def _open(file: _BoundedFile, path: Path, what: str) -> zipfile.ZipFile:
    """The archive with its directory read. Raises `InvalidFile` or `DirectoryTooLarge`."""
    try:
        archive = zipfile.ZipFile(file)
    except UnicodeDecodeError as error:
        raise InvalidFile(
            "zip_bad_name",
            f"{what} has a member whose name says it is UTF-8 and is not. Rename the file with plain letters and pack it again.",
        ) from error
    except DAMAGED as error:
        raise_host_fault(error)
        raise _not_a_zip(path, what) from error
    file.bounds = None
    return archive


def _checked_members(archive: zipfile.ZipFile, path: Path, limits: ArchiveLimits, what: str) -> list[zipfile.ZipInfo]:
    """The files of an archive whose directory is in order."""
    entries = archive.infolist()
    members = [entry for entry in entries if not entry.filename.endswith("/")]  # is_dir() fails on ""
    if len(entries) > limits.files:
        raise _too_many(limits, what)
    _check_sizes(members, path.stat().st_size, limits, what)
    files: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for entry in entries:
        _check_entry(entry, files, folders, what)
        if len(files) + len(folders) > limits.files:
            raise _too_many(limits, what)
    return members


def _not_a_zip(path: Path, what: str) -> InvalidFile:
    with path.open("rb") as file:
        starts_like_zip = file.read(2) == b"PK"
    if starts_like_zip:
        return InvalidFile(
            "zip_truncated",
            f"{what} starts like a zip but its end is missing: it was cut off. Make the zip again and upload it whole.",
        )
    return InvalidFile("not_a_zip", f"{what} is not a zip archive. Pack your files into a .zip and upload that.")


def _too_many(limits: ArchiveLimits, what: str) -> InvalidFile:
    return InvalidFile(
        "zip_too_many_files",
        f"{what} holds more than {limits.files:,} files and folders, which is the limit. Leave out what is not needed.",
    )


def _check_sizes(members: list[zipfile.ZipInfo], packed_bytes: int, limits: ArchiveLimits, what: str) -> None:
    if not members:
        raise InvalidFile("zip_empty", f"{what} holds no files. Put your files into the zip.")
    declared = sum(member.file_size for member in members)
    if declared > limits.unpacked_bytes:
        raise InvalidFile(
            "zip_too_large",
            f"{what} would unpack to {declared:,} bytes; at most {limits.unpacked_bytes:,} bytes are allowed.",
        )
    if declared > packed_bytes * limits.ratio:
        raise InvalidFile(
            "zip_too_large",
            f"{what} would unpack to {declared:,} bytes, which is more than {limits.ratio:,} times its own size and so "
            "taken for an attack. Leave out files that repeat one byte.",
        )


def _check_entry(entry: zipfile.ZipInfo, files: dict[str, zipfile.ZipInfo], folders: set[str], what: str) -> None:
    """One file or folder of the archive; `files` and `folders` are those seen so far, by name.

    The same file may be there twice, as some tools pack it: `_read_through` compares the bytes.
    """
    is_folder, name = entry.filename.endswith("/"), entry.filename.removesuffix("/")
    parts = name.split("/")
    if fault := _path_fault(name, parts):
        raise InvalidFile(
            "zip_path_outside",
            f"{what} has a member {name[:200]!r} whose path is not allowed: {fault}. Use plain relative paths: no '..', no backslash, "
            f"no drive, at most {MAX_DEPTH} folders deep, {MAX_NAME_BYTES} bytes a name and {MAX_PATH_BYTES:,} bytes in all.",
        )
    if entry.flag_bits & 0x1:
        raise InvalidFile("zip_encrypted", f"{what} is encrypted (member {name!r}). Make the zip without a password.")
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise InvalidFile(
            "zip_link",
            f"{what} has a member {name!r} that is a link or special file. Put the file itself into the zip.",
        )
    parents = {"/".join(parts[:depth]) for depth in range(1, len(parts))} | ({name} if is_folder else set())
    is_again = not is_folder and _declares_the_same(files.get(name, entry), entry)
    if (name in files and not is_again) or parents & files.keys() or (not is_folder and name in folders):
        raise _twice(name, what)
    folders |= parents
    if not is_folder:
        files.setdefault(name, entry)


def _declares_the_same(member: zipfile.ZipInfo, other: zipfile.ZipInfo) -> bool:
    return (member.file_size, member.CRC) == (other.file_size, other.CRC)


def _twice(name: str, what: str) -> InvalidFile:
    return InvalidFile("zip_duplicate_name", f"{what} has two different members called {name!r}. Keep one of them.")


def _path_fault(name: str, parts: list[str]) -> str:
    """The fault of a path that some worker would unpack elsewhere than below its folder; else empty."""
    faults = {
        "it begins with a slash": name.startswith("/"),
        "it holds a backslash": "\\" in name,
        "it holds the character NUL": "\x00" in name,
        f"it begins with the drive {name[:2]!r}": name[1:2] == ":",
        f"it is {len(parts)} folders deep": len(parts) > MAX_DEPTH,
        "it is too long": len(name.encode()) > MAX_PATH_BYTES,
        "a part of it is empty, '.' or '..'": not {"", ".", ".."}.isdisjoint(parts),
        "a name in it is too long": any(len(part.encode()) > MAX_NAME_BYTES for part in parts),
    }
    return next((fault for fault, is_there in faults.items() if is_there), "")


def _read_through(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], limits: ArchiveLimits, what: str) -> None:
    """Decompress everything once, counting: declared sizes may lie, and checksums are known at the end."""
    total, digests = 0, dict[str, bytes]()
    for member in members:
        digest = hashlib.sha256()
        try:
            with archive.open(member) as file:
                while chunk := file.read(CHUNK_BYTES):
                    total += len(chunk)
                    if total > limits.unpacked_bytes:
                        most = f"{limits.unpacked_bytes:,} bytes, which is the limit"
                        raise InvalidFile("zip_too_large", f"{what} unpacks to more than {most}.")
                    digest.update(chunk)
        except DAMAGED as error:
            raise_host_fault(error)
            raise InvalidFile(
                "zip_crc_error",
                f"{what} is damaged: the member {member.filename!r} cannot be unpacked. Make the zip again.",
            ) from error
        if digests.setdefault(member.filename, digest.digest()) != digest.digest():
            raise _twice(member.filename, what)


def text_fault(path: Path, names: list[str], patterns: Iterable[str]) -> str | None:
    """A sentence on the first file of a checked zip with a text's name that is not text; else None."""
    with zipfile.ZipFile(path) as archive:
        for name in names:
            if is_text_name(name, patterns):
                with archive.open(name) as file:
                    if (position := first_fault(file)) is not None:
                        return fault_text(f"The member {name[:200]!r}", position)
    return None

"""Collects what a container left. The container is dead by then; its output is still hostile.

Everything is opened relative to a directory's descriptor, links are never followed, and sizes, counts and names are
checked for the whole tree before the first byte is read.
"""

import hashlib
import os
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from workers.errors import OutputRefused, SandboxError, reading
from workers.protocol.texts import fault_text, first_fault, is_text_name

MAX_DEPTH = 32
MAX_PATH_BYTES = 1024
CHUNK_BYTES = 1 << 20
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files give the same archive
STORED_SUFFIXES = (".npz", ".zip", ".gz", ".bz2", ".xz", ".zst", ".png", ".jpg", ".parquet")
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
BLOCK_BYTES = 4096  # of a file system: each entry takes one at least


@dataclass(frozen=True)
class OutputFile:
    """One regular file of the output: its path below the output's root, and its size when it was checked."""

    path: str
    size_bytes: int


@dataclass(frozen=True)
class Listing:
    """The checked output: all its files, sorted by path, and the number of files and folders."""

    files: tuple[OutputFile, ...]
    entries: int = 0

    @property
    def total_bytes(self) -> int:
        """Sum of the sizes, holes counted in full."""
        return sum(file.size_bytes for file in self.files)

    @property
    def disk_bytes(self) -> int:
        """Bytes that a copy takes on a disk, where each entry takes a block."""
        return max(self.total_bytes, self.entries * BLOCK_BYTES)


def list_output(root: Path, *, max_files: int, max_bytes: int) -> Listing:
    """Check the tree below `root` and list its files; reads no content. Odd permissions are made ordinary.

    Raises `OutputRefused` for `link_in_output`, `special_file`, `bad_name`, `too_deep`, `unreadable_output`
    (`output_invalid`), `too_many_files`, `output_too_large` (`disk_limit`); `SandboxError` (`output_unreadable`) where
    this host failed to read it.
    """
    with _reading("unreadable_output", "The output cannot be read"):
        return _list_output(root, max_files, max_bytes)


@contextmanager
def _reading(code: str, what: str) -> Iterator[None]:
    """Guard a reader of an output: its program answers for errors, unless they are of this host."""
    try:
        with reading(lambda words: OutputRefused("output_invalid", code, f"{what}: {words}.")):
            yield
    except OSError as error:
        raise SandboxError("output_unreadable", f"{what}: {error.strerror}") from error


def _list_output(root: Path, max_files: int, max_bytes: int) -> Listing:
    files: list[OutputFile] = []
    entries = total = 0
    for path, facts in _walk(root):
        entries += 1
        if entries > max_files:
            raise OutputRefused(
                "disk_limit", "too_many_files", f"The output holds more than {max_files} files and folders."
            )
        if stat.S_ISDIR(facts.st_mode):
            continue
        _check_file(path, facts)
        total += facts.st_size
        if total > max_bytes:
            raise OutputRefused(
                "disk_limit", "output_too_large", f"The output is larger than {max_bytes} bytes (at {shown(path)})."
            )
        files.append(OutputFile(path, facts.st_size))
    return Listing(tuple(sorted(files, key=lambda file: file.path)), entries)


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below `root` with its lstat, folders before what is in them; never through a link."""
    root.chmod(0o755)
    pending: list[tuple[str, int]] = [("", 0)]
    while pending:
        folder, depth = pending.pop()
        descriptor = _open_below(root, folder, FOLDER_FLAGS)
        try:
            for name in os.listdir(descriptor):  # noqa: PTH208  a Path has no descriptor
                path = _checked_name(folder, name)
                facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISDIR(facts.st_mode):
                    if depth >= MAX_DEPTH:
                        raise OutputRefused(
                            "output_invalid", "too_deep", f"The output holds folders nested deeper than {MAX_DEPTH}."
                        )
                    pending.append((path, depth + 1))
                _make_readable(path, name, facts, descriptor)
                yield path, facts
        finally:
            os.close(descriptor)


def _make_readable(path: str, name: str, facts: os.stat_result, folder: int) -> None:
    """Give the scorer's user the rights to read a file or folder.

    Else a file without rights would look like the scorer's failure.
    """
    rights = {stat.S_IFDIR: 0o755, stat.S_IFREG: 0o644}.get(stat.S_IFMT(facts.st_mode))
    if rights is not None and facts.st_mode & rights != rights:
        with _reading("unreadable_output", f"{shown(path)} cannot be read"):
            os.chmod(name, stat.S_IMODE(facts.st_mode) | rights, dir_fd=folder)


def open_folder(name: str | Path, parent: int | None = None) -> int:
    """Open a folder, not through a link, and give its owner the rights to it that are missing.

    Without root the worker owns what a program writes, and is held to the rights that the program leaves it. Raises
    `PermissionError` where a program takes the rights away again meanwhile, or the folder is another user's.
    """
    handle = os.open(name, FOLDER_FLAGS | os.O_PATH, dir_fd=parent)
    try:
        place = f"/proc/self/fd/{handle}"  # by its name a link in its place would be followed
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            with suppress(PermissionError):  # the others' rights may do
                os.chmod(place, mode | stat.S_IRWXU)  # noqa: PTH101  a path would read as one of the host's
        return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)


def _open_below(root: Path, path: str, flags: int) -> int:
    """Open `path` below `root` one component at a time, so that no component can be a link."""
    descriptor = os.open(root, FOLDER_FLAGS)
    parts = path.split("/") if path else []
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        try:
            below = os.open(part, flags if last else FOLDER_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _checked_name(folder: str, name: str) -> str:
    path = f"{folder}/{name}" if folder else name
    printable = not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in name)
    if not printable or "\\" in name or len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise OutputRefused(
            "output_invalid",
            "bad_name",
            f"The output holds a name that is not allowed: {shown(path)}. Use printable UTF-8 names "
            f"without backslashes, at most {MAX_PATH_BYTES} bytes with their folders.",
        )
    return path


def _check_file(path: str, facts: os.stat_result) -> None:
    if stat.S_ISLNK(facts.st_mode):
        raise OutputRefused(
            "output_invalid", "link_in_output", f"{shown(path)} is a symbolic link; write a regular file."
        )
    if not stat.S_ISREG(facts.st_mode):
        raise OutputRefused(
            "output_invalid", "special_file", f"{shown(path)} is not a regular file (a pipe, socket or device)."
        )
    if facts.st_nlink != 1:
        raise OutputRefused(
            "output_invalid", "link_in_output", f"{shown(path)} is a hard link; write a file of its own."
        )


def require_text(root: Path, listing: Listing, patterns: Sequence[str]) -> None:
    """Raise `OutputRefused` for a file that has a text's name and is none.

    It would end the scoring program.
    """
    for file in listing.files:
        if is_text_name(file.path, patterns):
            with (
                _reading("unreadable_file", f"{shown(file.path)} cannot be read"),
                open_regular(root, file.path) as stream,
            ):
                if (position := first_fault(stream)) is not None:
                    raise OutputRefused("output_invalid", "not_utf8", fault_text(shown(file.path), position))


def shown(path: str) -> str:
    """A path from a container, made safe and short enough for a message."""
    text = ascii(path)
    return text if len(text) <= 120 else f"{text[:117]}..."


def open_regular(root: Path, path: str) -> IO[bytes]:
    """Open one file of the output for reading.

    Raises `OutputRefused` unless it still is a regular file with one name, and `SandboxError` where this host fails to open it.
    """
    with _reading("unreadable_file", f"{shown(path)} cannot be opened"):
        descriptor = _open_below(root, path, FILE_FLAGS)
    try:
        _check_file(path, os.fstat(descriptor))
    except OutputRefused:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_bounded(root: Path, path: str, max_bytes: int) -> bytes | None:
    """The content of one small file; None when there is no such file.

    Raises `OutputRefused` for a link, no regular file, or one larger than `max_bytes`.
    """
    with _reading("unreadable_file", f"{shown(path)} cannot be read"):
        folder = os.open(root, FOLDER_FLAGS)
        try:
            facts = os.stat(path, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        finally:
            os.close(folder)
        _check_file(path, facts)
        with open_regular(root, path) as stream:
            content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OutputRefused("output_invalid", "file_too_large", f"{shown(path)} is larger than {max_bytes} bytes.")
    return content


@reading(partial(OutputRefused, "output_invalid", "unreadable_output"))
def zip_output(root: Path, listing: Listing, target: Path) -> None:
    """Write the listed files into the zip archive `target`, streaming; at most the checked size of each."""
    with zipfile.ZipFile(target, "w", compresslevel=1, strict_timestamps=False) as archive:
        for file in listing.files:
            entry = zipfile.ZipInfo(file.path, EPOCH)
            entry.external_attr = 0o644 << 16
            stored = file.path.lower().endswith(STORED_SUFFIXES)
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            entry.file_size = file.size_bytes  # tells zipfile when it needs 64-bit headers
            with open_regular(root, file.path) as source, archive.open(entry, "w") as sink:
                copy_bounded(source, sink.write, file.size_bytes)


def copy_bounded(source: IO[bytes], write: Callable[[bytes], object], size_bytes: int) -> None:
    """Copy at most `size_bytes` bytes."""
    left = size_bytes
    while left and (chunk := source.read(min(CHUNK_BYTES, left))):
        write(chunk)
        left -= len(chunk)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file of ours, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

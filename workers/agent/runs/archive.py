"""Unpacks zip archives from outside: nothing outside the target, no links, bounded in all."""

import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

from workers.errors import DataRefused, reading
from workers.sandbox.collect import BLOCK_BYTES

MAX_ENTRIES = 200_000
MAX_UNPACKED_BYTES = 64 << 30
MAX_RATIO = 1100  # deflate cannot exceed 1032:1; more is a lie in the directory
MAX_DEPTH = 64
CHUNK_BYTES = 1 << 20


class ArchiveRefused(DataRefused):
    """The archive breaks a rule; `code` names it."""


@reading(lambda words: ArchiveRefused("bad_archive", f"The file is not a readable zip archive: {words}."))
def unpack(
    source: Path,
    target: Path,
    *,
    max_bytes: int = MAX_UNPACKED_BYTES,
    make_room: Callable[[int], None] = lambda needed_bytes: None,
) -> None:
    """Unpack `source` into the new folder `target`: files 0644 (0755 when executable), folders 0755.

    `make_room` is called before the first file is written, with the bytes that all will take on the disk. Raises
    `ArchiveRefused` (`bad_archive`, `path_outside`, `link_in_archive`, `encrypted`, `too_many_entries`, `too_large`,
    `duplicate_name`). `target` then holds a part, to be deleted by the caller.
    """
    with zipfile.ZipFile(source) as archive:
        entries = archive.infolist()
        _check(entries, source.stat().st_size, max_bytes)
        make_room(sum(entry.file_size + BLOCK_BYTES for entry in entries))
        target.mkdir(mode=0o755)
        for entry in {entry.filename: entry for entry in entries}.values():
            _extract(archive, entry, target)


def _check(entries: list[zipfile.ZipInfo], packed_bytes: int, max_bytes: int) -> None:
    """Decide from the directory alone, before the first byte is unpacked."""
    if len(entries) > MAX_ENTRIES:
        raise ArchiveRefused(
            "too_many_entries", f"The archive holds {len(entries)} entries; at most {MAX_ENTRIES} are allowed."
        )
    total = sum(entry.file_size for entry in entries)
    if total > min(max_bytes, max(packed_bytes, 1) * MAX_RATIO):
        raise ArchiveRefused("too_large", f"The archive would unpack to {total} bytes; that is more than is allowed.")
    seen: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        _check_entry(entry)
        first = seen.setdefault(entry.filename.rstrip("/"), entry)
        # The site has compared the bytes of what is there twice.
        if not entry.is_dir() and (first.is_dir(), first.file_size, first.CRC) != (False, entry.file_size, entry.CRC):
            raise ArchiveRefused("duplicate_name", f"The archive holds {entry.filename!a} twice.")


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    if entry.flag_bits & 0x1:
        raise ArchiveRefused("encrypted", f"{name!a} is encrypted; pack the archive without a password.")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ArchiveRefused("link_in_archive", f"{name!a} is a link or a special file; pack regular files only.")
    parts = name.rstrip("/").split("/")
    outside = name.startswith("/") or "\\" in name or "\0" in name or any(part in ("", ".", "..") for part in parts)
    if outside or (len(name) > 1 and name[1] == ":") or len(parts) > MAX_DEPTH or max(map(len, parts)) > 255:
        raise ArchiveRefused("path_outside", f"{ascii(name)[:200]} is not an allowed path inside the archive.")


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    path = target.joinpath(*entry.filename.rstrip("/").split("/"))
    try:
        if entry.is_dir():
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
            return
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        executable = bool((entry.external_attr >> 16) & 0o111)
        # O_EXCL and O_NOFOLLOW: two names that the file system takes for one do not overwrite each other.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o755 if executable else 0o644)
    except (FileExistsError, NotADirectoryError) as error:
        raise ArchiveRefused(
            "duplicate_name", f"The archive holds {entry.filename!a} as a file and a folder."
        ) from error
    with os.fdopen(descriptor, "wb") as sink, archive.open(entry) as content:
        left = entry.file_size
        while chunk := content.read(CHUNK_BYTES):
            left -= len(chunk)
            if left < 0:
                raise ArchiveRefused("too_large", f"{entry.filename!a} is larger than the archive says.")
            sink.write(chunk)

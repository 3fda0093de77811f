"""Objects as files below one folder, which all hosts of the site share where there are several."""

import errno
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final
from urllib.parse import SplitResult, unquote

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from competitions.resources.stores.base import (
    CHUNK_BYTES,
    SHA256,
    Attachment,
    Capacity,
    ObjectMissing,
    StoredObject,
    StoreFull,
    WrongDigest,
    require_digest,
)

UNFINISHED: Final = "arriving"
FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class DiskStore:
    """Objects as files: `abcd...` is `ab/cd/abcd...`, named so once it is whole and on the disk."""

    def __init__(self, root: Path, *, front_prefix: str = "") -> None:
        self.root, self._front_prefix = root, front_prefix

    @classmethod
    def from_url(cls, url: SplitResult) -> "DiskStore":
        """The store of `file:///folder`. Raises `ImproperlyConfigured` for a URL without an absolute path."""
        path = Path(unquote(url.path))
        if url.netloc or not path.is_absolute():
            raise ImproperlyConfigured(
                f"PODIUM_STORE_URL is {url.geturl()!r}; give the folder as in file:///srv/podium/objects."
            )
        return cls(path, front_prefix=settings.STORE_FRONT_LOCATION)

    def put(self, digest: str, source: Path | IO[bytes], *, may_link: bool = False) -> None:
        """Store an object unless it is there."""
        target = self._path(digest)
        with _room_errors():
            self._make_folders(target.parent)
            if not target.exists():
                self._place(digest, source, target, may_link=may_link)
            sync(target.parent)  # also behind another writer, who may not have come to it

    def _make_folders(self, folder: Path) -> None:
        """Folders whose own names are on the disk too."""
        missing = [path for path in (folder, folder.parent, self.root) if not path.is_dir()]
        folder.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync(path.parent)

    def _place(self, digest: str, source: Path | IO[bytes], target: Path, *, may_link: bool) -> None:
        arriving = self._unfinished_file()
        try:
            if isinstance(source, Path):
                if not (may_link and _link(source, arriving)):
                    shutil.copyfile(source, arriving)
            else:
                _copy_checked(digest, source, arriving)
            arriving.chmod(0o644)
            sync(arriving)
            arriving.replace(target)
        finally:
            arriving.unlink(missing_ok=True)

    def _unfinished_file(self) -> Path:
        folder = self.root / UNFINISHED
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        os.close(handle)
        return Path(name)

    def open(self, digest: str, *, start: int = 0, length: int | None = None) -> IO[bytes]:
        """The bytes from `start`, at most `length` of them. Raises `ObjectMissing`."""
        with _missing(digest):
            file = self._path(digest).open("rb")
        file.seek(start)
        return file if length is None else io.BufferedReader(_Part(file, length))

    def local_path(self, digest: str) -> Path | None:
        """The object's path."""
        return self._path(digest)

    def exists(self, digest: str) -> bool:
        """True if the whole object is there."""
        return self._path(digest).exists()

    def size(self, digest: str) -> int:
        """The object's size in bytes. Raises `ObjectMissing`."""
        with _missing(digest):
            return self._path(digest).stat().st_size

    def delete(self, digest: str) -> None:
        """Remove an object; nothing happens when it is not there."""
        self._path(digest).unlink(missing_ok=True)

    def objects(self) -> Iterator[StoredObject]:
        """All whole objects."""
        for path in self.root.glob("[0-9a-f][0-9a-f]/[0-9a-f][0-9a-f]/*"):
            if SHA256.fullmatch(path.name) and (facts := _stat(path)) is not None:
                yield StoredObject(path.name, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC))

    def remove_unfinished(self, *, before: datetime) -> int:
        """Remove what was left half written before this instant; returns how many."""
        removed = 0
        for path in (self.root / UNFINISHED).glob("*"):
            facts = _stat(path)
            if facts is not None and facts.st_mtime <= before.timestamp():
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def capacity(self) -> Capacity | None:
        """Room of the file system; None before the folder is there."""
        if not self.root.is_dir():
            return None
        usage = shutil.disk_usage(self.root)
        return Capacity(total_bytes=usage.total, free_bytes=usage.free)

    def is_writable(self) -> bool:
        """True if the folder, or the one that it will be made in, can be written."""
        there = next(path for path in (self.root, *self.root.parents) if path.exists())
        return os.access(there, os.W_OK)

    def signed_url(self, digest: str, attachment: Attachment, *, valid_for: timedelta) -> str | None:
        """None: a disk serves nobody."""
        return None

    def front_location(self, digest: str) -> str | None:
        """Below the location that the front serves from this folder, where a setting names one."""
        relative = self._path(digest).relative_to(self.root)
        return f"{self._front_prefix.rstrip('/')}/{relative}" if self._front_prefix else None

    def _path(self, digest: str) -> Path:
        require_digest(digest)
        return self.root / digest[:2] / digest[2:4] / digest


class _Part(io.RawIOBase):
    """The next `length` bytes of a file, which is closed with it."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file, self._left = file, length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]  # RawIOBase hands over a memoryview
        data = self._file.read(min(self._left, len(buffer)))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def sync(path: Path) -> None:
    """Have a file, or a folder's list of names, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_checked(digest: str, source: IO[bytes], target: Path) -> None:
    actual = hashlib.sha256()
    with target.open("wb") as file:
        while chunk := source.read(CHUNK_BYTES):
            actual.update(chunk)
            file.write(chunk)
    if actual.hexdigest() != digest:
        raise WrongDigest(digest=digest, actual=actual.hexdigest())


def _link(source: Path, target: Path) -> bool:
    """True when the file has a second name now; False on another file system."""
    target.unlink()
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


def _stat(path: Path) -> os.stat_result | None:
    """None when somebody removed it meanwhile."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


@contextmanager
def _missing(digest: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ObjectMissing(digest) from error


@contextmanager
def _room_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise StoreFull from error

"""Putting bytes into the object storage and reading them back. Objects are immutable and named by their digest."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, storages

from competitions.resources.models import StoredFile

CHUNK_BYTES = 1024 * 1024


def digest_of(path: Path) -> tuple[str, int]:
    """SHA-256 (hexadecimal) and size in bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size


def store_path(path: Path, *, link: bool = False) -> StoredFile:
    """Store a finished file on disk; the source is left where it is.

    `link` says that the source will never be written to again, so that on one file system no copy is needed.
    The object is there in full, and on the disk, before the row exists, so every row finds its object, also after a crash or
    a power cut in between.
    """
    sha256, size_bytes = digest_of(path)
    _put(path, StoredFile(sha256=sha256, size_bytes=size_bytes), link=link)
    while True:
        stored, is_new = StoredFile.objects.get_or_create(sha256=sha256, defaults={"size_bytes": size_bytes})
        if not is_new and stored.unneeded_since is None:
            return stored
        # It is being removed, or was a moment ago: whoever takes the mark off keeps the row, and its object may be gone.
        if is_new or StoredFile.objects.filter(pk=sha256).update(unneeded_since=None):
            _put(path, stored, link=link)
            stored.unneeded_since = None
            return stored


def _put(path: Path, stored: StoredFile, *, link: bool) -> None:
    """Make the object unless it is there."""
    storage = storages["objects"]
    if isinstance(storage, FileSystemStorage):
        _place(path, Path(storage.path(stored.storage_name)), arriving_folder(storage), link=link)
    elif not storage.exists(stored.storage_name) or storage.size(stored.storage_name) != stored.size_bytes:
        storage.delete(stored.storage_name)  # the rest of an upload that broke off
        with path.open("rb") as file:
            storage.save(stored.storage_name, File(file))


def arriving_folder(storage: FileSystemStorage) -> Path:
    """Where objects lie until they are whole; made when first asked for."""
    folder = Path(storage.location) / "arriving"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _place(source: Path, target: Path, folder: Path, *, link: bool) -> None:
    """Put the file under its final name, whole and on the disk or not at all: a crash leaves nothing that could be taken for it."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    arriving = Path(name)
    try:
        if not (link and _linked(source, arriving)):
            shutil.copyfile(source, arriving)
        arriving.chmod(0o644)
        _sync(arriving)
        arriving.replace(target)
        _sync(target.parent)
    finally:
        arriving.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _linked(source: Path, target: Path) -> bool:
    """True when the file has a second name now; False on another file system."""
    target.unlink()
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


def store_bytes(content: bytes) -> StoredFile:
    """Store a small content that is already in memory."""
    with spooled([content]) as path:
        return store_path(path)


@contextmanager
def spooled(chunks: Iterable[bytes]) -> Iterator[Path]:
    """A temporary file beside the uploads with these bytes; removed at the end of the block."""
    folder = Path(settings.UPLOADS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix="spool-")
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
        yield path
    finally:
        path.unlink(missing_ok=True)


def open_stored(stored: StoredFile) -> IO[bytes]:
    """The stored bytes, opened for reading; the caller closes it."""
    return storages["objects"].open(stored.storage_name, "rb")


@contextmanager
def local_copy(stored: StoredFile) -> Iterator[Path]:
    """A path with the stored bytes: the object itself where the storage is local, else a temporary copy."""
    storage = storages["objects"]
    try:
        path = Path(storage.path(stored.storage_name))
    except NotImplementedError:  # remote storage
        with open_stored(stored) as source, spooled(iter(lambda: source.read(CHUNK_BYTES), b"")) as copy:
            yield copy
    else:
        yield path

"""Stored files: an immutable object in the store, named by its digest, and the row for it."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings

from competitions.resources.models import StoredFile
from competitions.resources.stores import object_store
from competitions.resources.stores.base import CHUNK_BYTES as CHUNK_BYTES


def digest_and_size(path: Path) -> tuple[str, int]:
    """SHA-256 (hexadecimal) and size in bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size


def store_path(path: Path, *, link: bool = False, sha256: str = "") -> StoredFile:
    """Store a finished file on disk; the source is left where it is.

    `link` says that the source will never be written to again, so that on one file system no copy is needed. `sha256` is
    the file's digest where the caller has just read it.
    The object is there in full, and on the disk, before the row exists, so every row finds its object, also after a crash or
    a power cut in between. Raises `StoreFull`.
    """
    sha256, size_bytes = (sha256, path.stat().st_size) if sha256 else digest_and_size(path)
    store = object_store()
    store.put(sha256, path, may_link=link)
    while True:
        stored, is_new = StoredFile.objects.get_or_create(sha256=sha256, defaults={"size_bytes": size_bytes})
        if not is_new and stored.unneeded_since is None:
            return stored
        # It is being removed, or was a moment ago: whoever takes the mark off keeps the row, and its object may be gone.
        if is_new or StoredFile.objects.filter(pk=sha256).update(unneeded_since=None):
            store.put(sha256, path, may_link=link)
            stored.unneeded_since = None
            return stored


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


def store_export(name: str, write: Callable[[Path], object]) -> StoredFile:
    """Store the file of this name that is written to the path; its folder has room for large ones."""
    folder = Path(settings.UPLOADS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="export-") as scratch:
        target = Path(scratch) / name
        write(target)
        return store_path(target, link=True)


def open_stored(stored: StoredFile) -> IO[bytes]:
    """The stored bytes, opened for reading; the caller closes it."""
    return object_store().open(stored.sha256)


@contextmanager
def local_copy(stored: StoredFile) -> Iterator[Path]:
    """A path with the stored bytes: the object itself where the store is local, else a temporary copy."""
    path = object_store().local_path(stored.sha256)
    if path is not None:
        yield path
        return
    with open_stored(stored) as source, spooled(iter(lambda: source.read(CHUNK_BYTES), b"")) as copy:
        yield copy

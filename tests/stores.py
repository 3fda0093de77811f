"""A remote store: no path on this host, its own addresses, and failures that tests choose."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from competitions.resources.stores.base import (
    CHUNK_BYTES,
    Attachment,
    Capacity,
    ObjectMissing,
    StoredObject,
    StoreFull,
    WrongDigest,
    require_digest,
)


class MemoryStore:
    """Objects in a dictionary; they end with the process."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[bytes, datetime]] = {}
        self._is_full = False

    def fill(self) -> None:
        """Take nothing any more."""
        self._is_full = True

    def put(self, digest: str, source: Path | IO[bytes], *, may_link: bool = False) -> None:
        require_digest(digest)
        content = (
            source.read_bytes() if isinstance(source, Path) else b"".join(iter(lambda: source.read(CHUNK_BYTES), b""))
        )
        actual = hashlib.sha256(content).hexdigest()
        if actual != digest:
            raise WrongDigest(digest=digest, actual=actual)
        if self._is_full:
            raise StoreFull
        self._objects.setdefault(digest, (content, datetime.now(UTC)))

    def open(self, digest: str, *, start: int = 0, length: int | None = None) -> IO[bytes]:
        content = self._content(digest)
        return io.BytesIO(content[start:] if length is None else content[start : start + length])

    def local_path(self, digest: str) -> Path | None:
        return None

    def exists(self, digest: str) -> bool:
        return require_digest(digest) in self._objects

    def size(self, digest: str) -> int:
        return len(self._content(digest))

    def delete(self, digest: str) -> None:
        self._objects.pop(require_digest(digest), None)

    def objects(self) -> Iterator[StoredObject]:
        for digest, (content, written_at) in list(self._objects.items()):
            yield StoredObject(digest, len(content), written_at)

    def remove_unfinished(self, *, before: datetime) -> int:
        return 0

    def capacity(self) -> Capacity | None:
        return None

    def is_writable(self) -> bool:
        return not self._is_full

    def signed_url(self, digest: str, attachment: Attachment, *, valid_for: timedelta) -> str | None:
        return f"https://objects.example/{digest}?as={attachment.file_name}&for={valid_for.total_seconds():.0f}"

    def front_location(self, digest: str) -> str | None:
        return None

    def _content(self, digest: str) -> bytes:
        try:
            return self._objects[require_digest(digest)][0]
        except KeyError:
            raise ObjectMissing(digest) from None

"""The interface of every store of objects. `tests/contract/stores/` holds each of them to it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Final, Protocol

from core.refusals import Refusal

SHA256: Final = re.compile(r"[0-9a-f]{64}")
CHUNK_BYTES: Final = 1024 * 1024


class StoreFull(Refusal):
    code, http_status = "storage_full", 507

    def __init__(self) -> None:
        super().__init__(
            "The site has no room left for files, so this one was not stored. Try again later, or tell the administrators."
        )


class ObjectMissing(FileNotFoundError):
    """The store has no object with this digest."""

    def __init__(self, digest: str) -> None:
        super().__init__(f"the object store has no {digest}")


class WrongDigest(Exception):
    """The bytes are not those of the digest that they came under; nothing was stored."""

    def __init__(self, *, digest: str, actual: str) -> None:
        super().__init__(f"the bytes that came as {digest} have the SHA-256 {actual}")


@dataclass(frozen=True)
class StoredObject:
    """One object as a listing shows it."""

    digest: str
    size_bytes: int
    modified_at: datetime


@dataclass(frozen=True)
class Capacity:
    """Room of a store that has an end."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Attachment:
    """The headers with which a browser gets an object from the store itself."""

    content_type: str
    file_name: str = ""  # empty: shown in place


class ObjectStore(Protocol):
    """Immutable objects, each named by the SHA-256 of its bytes in hexadecimal.

    Every method may be called from several threads, processes and hosts at once. A digest that is none is a `ValueError`.
    """

    def put(self, digest: str, source: Path | IO[bytes], *, may_link: bool = False) -> None:
        """Store an object unless it is there. Then a power cut does not lose it.

        Until this returns nobody sees any of it. A stream's bytes are compared with the digest, a path's were when the digest was
        computed. `may_link` promises that nobody writes to the path again. Raises `WrongDigest` or `StoreFull`; then nothing was
        stored.
        """

    def open(self, digest: str, *, start: int = 0, length: int | None = None) -> IO[bytes]:
        """The bytes from `start`, at most `length` of them; the caller closes it. Raises `ObjectMissing`."""

    def local_path(self, digest: str) -> Path | None:
        """The object's path on this host, for reading alone; None where it lies elsewhere."""

    def exists(self, digest: str) -> bool:
        """True if the whole object is there."""

    def size(self, digest: str) -> int:
        """The object's size in bytes. Raises `ObjectMissing`."""

    def delete(self, digest: str) -> None:
        """Remove an object; nothing happens when it is not there."""

    def objects(self) -> Iterator[StoredObject]:
        """All whole objects, in any order; those that come and go meanwhile may be among them or not."""

    def remove_unfinished(self, *, before: datetime) -> int:
        """Remove what writers that are gone left half written before this instant; returns how many."""

    def capacity(self) -> Capacity | None:
        """Total and free room; None where the store has no end or does not tell."""

    def is_writable(self) -> bool:
        """True if a put can be expected to work now."""

    def signed_url(self, digest: str, attachment: Attachment, *, valid_for: timedelta) -> str | None:
        """An address from which anybody may fetch the object for a while; None where the store has none."""

    def front_location(self, digest: str) -> str | None:
        """The internal address under which the front serves the object; None where it does not."""


def require_digest(digest: str) -> str:
    """The digest. Raises `ValueError` for any other text, so that no name leads out of the store."""
    if not SHA256.fullmatch(digest):
        raise ValueError(f"{digest[:80]!r} is not a SHA-256 digest in lower-case hexadecimal")
    return digest

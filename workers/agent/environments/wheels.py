"""Choosing and fetching the wheels of a lock file, checked by the lock's digests."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from workers.agent.environments.mirror import IndexFile, Mirror, TooLarge
from workers.errors import DataRefused, reading
from workers.protocol.files.locks import FILE_NAME, Locked
from workers.protocol.files.markers import Python

MAX_NAME = 255  # of a file


class EnvironmentRefused(DataRefused):
    """An environment that cannot be made, by what its team asked for. `code` is a stable word."""


@dataclass(frozen=True)
class Interpreter:
    """The Python of an image: the tags of wheels that it can use, best first, and its markers."""

    tags: Sequence[Tag]
    python: Python

    def rank(self, tags: frozenset[Tag]) -> int | None:
        """The rank of a wheel with these tags: 0 is best, None does not fit."""
        return next((place for place, tag in enumerate(self.tags) if tag in tags), None)


def fetch_wheels(
    lock: Sequence[Locked], python: Interpreter, mirror: Mirror, folder: Path, *, max_bytes: int
) -> list[tuple[Locked, str]]:
    """Fetch a wheel for each package of this Python; returns each with the digest of its wheel.

    Raises `EnvironmentRefused` where the mirror has no such wheel, its digest is not in the lock, or all together are
    too large; `SandboxError` where the mirror cannot be used.
    """
    left = max_bytes
    fetched = []
    for locked in lock:
        if not locked.is_for(python.python):
            continue
        files = mirror.files(locked.name)
        with reading(partial(_refusal, locked, "not_on_mirror")):
            file = chosen(locked, files, python)
        target = folder / file.name
        try:
            digest = mirror.fetch(file, target, room=left)
        except TooLarge as error:
            raise EnvironmentRefused(
                "environment_too_large",
                f"The wheels are larger than the {max_bytes:,} bytes that an environment may have.",
            ) from error
        if digest not in locked.hashes:
            raise _bad_hash(locked, file)
        left -= target.stat().st_size
        fetched.append((locked, digest))
    return fetched


def chosen(locked: Locked, files: Sequence[IndexFile] | None, python: Interpreter) -> IndexFile:
    """The wheel that fits the image best, of those in the lock. Raises `EnvironmentRefused`."""
    if files is None:
        raise _refusal(locked, "not_on_mirror", "the queue's package mirror has no such package.")
    wheels = [(file, tags) for file in files if (tags := _tags(file.name, locked)) is not None]
    if not wheels:
        has_source = any(file.name.endswith((".tar.gz", ".zip")) and str(locked.version) in file.name for file in files)
        if has_source:
            raise _refusal(
                locked,
                "only_source",
                "the mirror has its source alone, and only wheels are installed: no code runs then.",
            )
        raise _refusal(locked, "not_on_mirror", "the queue's package mirror does not have this version.")
    ranked = [(rank, file) for file, tags in wheels if (rank := python.rank(tags)) is not None]
    if not ranked:
        raise _refusal(
            locked, "no_wheel_for_image", "the mirror has no wheel of it for the image's Python and platform."
        )
    listed = [(rank, file) for rank, file in ranked if not file.sha256 or file.sha256 in locked.hashes]
    if not listed:
        raise _bad_hash(locked, ranked[0][1])
    return min(listed, key=lambda pair: pair[0])[1]


def _tags(name: str, locked: Locked) -> frozenset[Tag] | None:
    """The tags of a wheel of this package and version; None for any other file."""
    if "/" in name or "\\" in name or name.startswith(".") or not name.isprintable() or len(name) > MAX_NAME:
        return None
    try:
        project, version, _, tags = parse_wheel_filename(name)
    except InvalidWheelFilename:
        return None
    return tags if (project, version) == (locked.name, locked.version) else None


def _refusal(locked: Locked, code: str, what: str) -> EnvironmentRefused:
    return EnvironmentRefused(code, f"{FILE_NAME}, line {locked.line}: {locked.name} {locked.version}: {what}")


def _bad_hash(locked: Locked, file: IndexFile) -> EnvironmentRefused:
    return _refusal(
        locked, "bad_hash", f"the digest of {file.name[:120]} on the mirror is none of those that the line names."
    )

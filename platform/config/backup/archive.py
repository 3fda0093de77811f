"""The two forms of a backup: a folder, to which the next backup only adds, and one tar file.

The backup before is good until the new one is whole: its tables have other names, and a tar file takes its place at the end.
"""

import gzip
import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TypedDict, cast

MANIFEST = "manifest.json"
FORMAT = "podium-backup-2"  # raised with what a manifest says
TABLES = "tables"
STREAM = Path("-")


class Table(TypedDict):
    """One table of a backup: the part with its rows, and what they come to."""

    part: str
    rows: int
    sha256: str
    columns: list[str]


class Manifest(TypedDict):
    """The list of a backup's contents: tables by name, sizes of stored files by digest."""

    format: str
    made_at: str
    migrations: list[str]
    tables: dict[str, Table]
    objects: dict[str, int]


class Broken(Exception):
    """A backup that is not whole, or not one; the message names the part."""


class Folder:
    """Parts as files. Objects never change, so that those of an earlier backup are kept."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, name: str) -> bool:
        """True if the part is there already."""
        return (self._root / name).exists()

    def put(self, name: str, source: Path) -> None:
        """Copy whole or not at all."""
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with _written_whole(target) as copy, source.open("rb") as original:
            shutil.copyfileobj(original, copy)

    def open(self, name: str) -> IO[bytes]:
        """Read a part."""
        try:
            return (self._root / name).open("rb")
        except OSError as error:
            raise Broken(f"{self._root} has no {name}: {error.strerror}") from error

    def keep_only(self, folder: str, names: Collection[str]) -> None:
        """Remove the other files."""
        for path in (self._root / folder).iterdir():
            if f"{folder}/{path.name}" not in names:
                path.unlink()


class TarFile:
    """Parts as members of one file, or of a stream that is written once."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar

    def has(self, name: str) -> bool:
        """A new file has nothing yet."""
        return False

    def put(self, name: str, source: Path) -> None:
        """Append."""
        self._tar.add(source, arcname=name, recursive=False)

    def open(self, name: str) -> IO[bytes]:
        """Read a member."""
        try:
            member = self._tar.extractfile(name)
        except (KeyError, tarfile.TarError) as error:
            raise Broken(f"the archive has no {name}") from error
        if member is None:
            raise Broken(f"{name} in the archive is not a file")
        return member

    def keep_only(self, folder: str, names: Collection[str]) -> None:
        """A new file has nothing else."""


Place = Folder | TarFile  # a backup's parts by name; a part that is not there is `Broken`


@contextmanager
def _written_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file for its owner alone that replaces the former one once it is on disk, or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        with open(fresh, "wb", opener=_for_the_owner) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def opened(path: Path, mode: str) -> Iterator[Place]:
    """The backup at `path`, `r` or `w`: a tar for `.tar`, standard input or output for `-`, else a folder.

    Only the owner can read what is written: a backup has every score and every address in it.
    """
    with ExitStack() as opened_too:
        if path == STREAM or path.suffix == ".tar":
            yield TarFile(opened_too.enter_context(_tar(path, mode, opened_too)))
            return
        if mode == "w":
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield Folder(path)


def _tar(path: Path, mode: str, opened_too: ExitStack) -> tarfile.TarFile:
    """Open a tar file; one on standard input is copied first, as its parts are read in any order.

    Raises `Broken` if it is not a tar file.
    """
    try:
        if mode == "w" and path == STREAM:
            return tarfile.open(fileobj=sys.stdout.buffer, mode="w|")
        if mode == "w":
            return tarfile.open(fileobj=opened_too.enter_context(_written_whole(path)), mode="w")
        if path != STREAM:
            return tarfile.open(path, "r:")
        copy = opened_too.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  the stack closes it
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.seek(0)
        return tarfile.open(fileobj=copy, mode="r:")
    except (OSError, tarfile.TarError) as error:
        raise Broken(f"{path} cannot be opened as a tar file: {error}") from error


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def read_manifest(place: Place) -> Manifest:
    """The backup's list of contents. Raises `Broken` if this is not a backup of a site."""
    with place.open(MANIFEST) as file:
        try:
            manifest = json.loads(file.read())
        except ValueError as error:
            raise Broken(f"{MANIFEST} is not JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise Broken(f"{MANIFEST} is not that of a backup of Podium")
    return cast("Manifest", manifest)


def read_lines(place: Place, name: str) -> Iterator[str]:
    """The lines of the table in this part."""
    try:
        with place.open(name) as packed, gzip.open(packed, "rt", encoding="utf-8", newline="\n") as text:
            for line in text:
                yield line.rstrip("\n")
    except (OSError, EOFError) as error:
        raise Broken(f"{name} cannot be read to its end: {error}") from error


def remaining_sha256(stream: IO[bytes]) -> str:
    """SHA-256 of what is left of a stream."""
    digest = hashlib.sha256()
    while chunk := stream.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()

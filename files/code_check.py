"""Code before it runs: the check of its zip, the same for `podium run` and the site, and its parts."""

import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from files.archives import ArchiveLimits, check_zip
from files.refusals import InvalidFile
from workers.protocol.files.locks import FILE_NAME as LOCK
from workers.protocol.files.locks import MAX_BYTES as MAX_LOCK_BYTES
from workers.protocol.files.locks import LockInvalid, read_lock
from workers.protocol.files.plain_yaml import METADATA_NAMES

CODE_LIMITS: Final = ArchiveLimits()


@dataclass(frozen=True)
class OwnEnvironment:
    """A file of weights, an image, and a package index for requirements.txt.

    The image is the path of an archive, or `registry/repository@sha256:…`.
    """

    weights: Path | None = None
    image: str = ""
    mirror: str = ""

    @property
    def archive(self) -> Path | None:
        """The image's archive, where it is one."""
        return Path(self.image) if self.image and Path(self.image).is_file() else None

    @property
    def kinds(self) -> list[str]:
        """The parts by the names of a phase's `environment`; requirements lie within the code."""
        return [*(["weights"] if self.weights else []), *(["image"] if self.image else [])]


NOTHING = OwnEnvironment()


def check_code(path: Path, *, file_name: str, needs_command: bool, takes_requirements: bool = False) -> str:
    """Read the zip whole; returns its lock file's text, where the phase has that installed.

    Raises `InvalidFile` with what is wrong with it, and what would be right.
    """
    names = check_zip(path, limits=CODE_LIMITS, what=f"The submission {file_name!r}")
    if needs_command:
        require_command(names, file_name)
    return locked_requirements(path, names) if takes_requirements else ""


def locked_requirements(path: Path, names: Collection[str]) -> str:
    """The lock file of a code submission, by the workers' rules; empty for none. Raises `InvalidFile`."""
    if LOCK not in names:
        return ""
    with zipfile.ZipFile(path) as archive, archive.open(LOCK) as member:
        content = member.read(MAX_LOCK_BYTES + 1)
    try:
        read_lock(content)
    except LockInvalid as error:
        raise InvalidFile("requirements_invalid", str(error)) from error
    return content.decode("utf-8-sig")


def require_command(names: Collection[str], file_name: str) -> None:
    """Raise `InvalidFile` where nothing at the top level of the zip can say what is run."""
    if not set(METADATA_NAMES) & set(names):
        raise InvalidFile(
            "no_metadata",
            f"The submission {file_name!r} has no metadata.yaml at its top level, so it says no command to run. "
            "Add one with a line such as `command: python $program/predict.py`; do not pack the files into a folder.",
        )

"""What a zip of code must be before it is run. No Django: `podium run` says the same on a participant's machine."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from competitions.resources.archives import ArchiveLimits, check_zip
from core.refusals import InvalidFile

CODE_LIMITS: Final = ArchiveLimits()
# In one of these a code submission says how it is run, unless the task's ingestion program does.
METADATA_NAMES: Final = ("metadata.yaml", "metadata")


def check_code(path: Path, *, file_name: str, needs_command: bool) -> None:
    """Read the zip whole. Raises `InvalidFile` with what is wrong with it, and what would be right."""
    names = check_zip(path, limits=CODE_LIMITS, what=f"The submission {file_name!r}")
    if needs_command:
        require_command(names, file_name)


def require_command(names: Collection[str], file_name: str) -> None:
    """Raise `InvalidFile` where nothing at the top level of the zip can say what is run."""
    if not set(METADATA_NAMES) & set(names):
        raise InvalidFile(
            "no_metadata",
            f"The submission {file_name!r} has no metadata.yaml at its top level, so it says no command to run. "
            "Add one with a line such as `command: python $program/predict.py`; do not pack the files into a folder.",
        )

"""What can be said about an upload before it is queued, without labels: the contract check of a phase."""

from pathlib import Path

from competitions.catalog.models import Phase
from competitions.refusals import InvalidFile
from competitions.resources.archives import ArchiveLimits, check_zip
from competitions.submissions.states import Kind

CODE_LIMITS = ArchiveLimits()
# In one of these a code submission says how it is run, unless the task's ingestion program does.
METADATA_NAMES = ("metadata.yaml", "metadata")


def check_upload(*, phase: Phase, kind: Kind, path: Path, file_name: str) -> None:
    """Raise `InvalidFile` with what is wrong with this file for this phase, and what would be right."""
    if kind == Kind.CODE:
        check_code(phase, path, file_name)
    elif phase.prediction_format:
        check_prediction(phase.prediction_format, path, file_name)
    else:
        check_zip(path, limits=CODE_LIMITS, what=f"The submission {file_name!r}")


def check_code(phase: Phase, path: Path, file_name: str) -> None:
    """A zip that can be unpacked and, where no ingestion program runs it, says its own command."""
    names = check_zip(path, limits=CODE_LIMITS, what=f"The submission {file_name!r}")
    needs_command = phase.tasks.filter(ingestion_program=None).exists()
    if needs_command and not set(METADATA_NAMES) & set(names):
        raise InvalidFile(
            "no_metadata",
            f"The submission {file_name!r} has no metadata.yaml at its top level, so it says no command to run. "
            "Add one with a line such as `command: python $program/predict.py`; do not pack the files into a folder.",
        )


def check_prediction(prediction_format: dict[str, object], path: Path, file_name: str) -> None:
    """An official file of the data set and split that the phase names."""
    from scoring import ScoringInputError, submissions

    rows = prediction_format.get("rows")
    try:
        submissions.check(
            path,
            str(prediction_format["dataset"]),
            str(prediction_format["split"]),
            rows=rows if isinstance(rows, int) else None,
            filename=file_name,
        )
    except ScoringInputError as error:
        raise InvalidFile(error.code, str(error)) from error

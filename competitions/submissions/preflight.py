"""What can be said about an upload before it is queued, without labels: the contract check of a phase."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from competitions.catalog.models import Phase
from competitions.resources.archives import ArchiveLimits, check_zip
from competitions.submissions.layouts import check_dataset
from competitions.submissions.models import Program
from competitions.submissions.states import Kind
from core.refusals import InvalidFile

CODE_LIMITS = ArchiveLimits()
# In one of these a code submission says how it is run, unless the task's ingestion program does.
METADATA_NAMES = ("metadata.yaml", "metadata")


MAX_METADATA_BYTES = 64 * 1024


@dataclass(frozen=True)
class Recognised:
    """What an upload is."""

    kind: Kind
    program: Program


def recognise(*, phase: Phase, kind: Kind, path: Path, file_name: str) -> Recognised:
    """What was sent in. On Codabench's rules nobody says it: the zip and the tasks do. Raises `InvalidFile` for no sound zip."""
    if not phase.as_on_codabench:
        return Recognised(kind, Program.NONE)
    names = check_zip(path, limits=CODE_LIMITS, what=f"The submission {file_name!r}")
    program = _program(path, names)
    has_ingestion = phase.tasks.filter(ingestion_program__isnull=False).exists()
    is_run = program == Program.COMMAND or (has_ingestion and phase.accepts_code)
    return Recognised(Kind.CODE if is_run else Kind.PREDICTION, program)


def _program(path: Path, names: list[str]) -> Program:
    """Whether a zip has a metadata file at its top level, and whether that says a command."""
    name = next((name for name in METADATA_NAMES if name in names), None)
    if name is None:
        return Program.NONE
    with zipfile.ZipFile(path) as archive, archive.open(name) as member:
        text = member.read(MAX_METADATA_BYTES).decode("utf-8-sig", errors="replace")
    try:
        said = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return Program.METADATA
    return Program.COMMAND if isinstance(said, dict) and said.get("command") else Program.METADATA


def check_upload(*, phase: Phase, kind: Kind, path: Path, file_name: str) -> None:
    """Raise `InvalidFile` with what is wrong with this file for this phase, and what would be right."""
    if phase.as_on_codabench:
        return  # it was looked at when it was recognised
    if kind == Kind.CODE:
        check_code(phase, path, file_name)
    elif kind == Kind.PREDICTION and phase.prediction_format:
        check_prediction(phase.prediction_format, path, file_name)
    elif kind == Kind.DATASET and phase.grows:
        check_dataset(path, file_name)
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

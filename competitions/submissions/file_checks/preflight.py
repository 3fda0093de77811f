"""The check of an upload against its phase's contract, before it is queued and without labels.

`look` reads headers within milliseconds and is for web requests. `inspect` reads everything; it is for a process of its own, and
touches neither the database nor anything but the file. A table is read by a new interpreter (`table_check`).
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from competitions.catalog.models import Phase
from competitions.submissions.file_checks.layouts import check_folders
from competitions.submissions.models import Program
from competitions.submissions.states import Kind
from core.background.bounded import Call
from core.refusals import InvalidFile
from files.archives import check_zip, look_at_zip, text_fault
from files.code_check import CODE_LIMITS, locked_requirements, require_command
from workers.protocol.files.plain_yaml import MAX_CHARACTERS, METADATA_NAMES, NotPlainYaml, read_plain_yaml


@dataclass(frozen=True)
class Contract:
    """The requirements of a phase on a file."""

    kind: Kind
    file_name: str
    as_on_codabench: bool
    accepts: tuple[str, ...]
    has_ingestion: bool
    needs_command: bool
    prediction_format: dict[str, Any] | None
    grows: bool
    text_patterns: tuple[str, ...]
    takes_requirements: bool

    @property
    def is_prediction_file(self) -> bool:
        """It is one official file or one table, and no zip of anything."""
        return not self.as_on_codabench and self.kind == Kind.PREDICTION and self.prediction_format is not None

    @property
    def table(self) -> dict[str, object] | None:
        """The schema of the table, where the file is one."""
        return (self.prediction_format or {}).get("table") if self.is_prediction_file else None


@dataclass(frozen=True)
class Recognised:
    """The kind and program of an upload, as the check found them."""

    kind: Kind
    program: Program
    requirements: str = ""  # the lock file's text, where the phase has it installed


def file_contract(*, phase: Phase, kind: Kind, file_name: str) -> Contract:
    """The phase's requirements on a file of this kind and name."""
    programs: list[int | None] = []
    if kind == Kind.CODE or phase.as_on_codabench:  # no other files are run, or shown to a program
        programs += phase.tasks.values_list("ingestion_program", flat=True)
    if kind == Kind.CODE and phase.smoke_task is not None:
        programs.append(phase.smoke_task.ingestion_program_id)
    return Contract(
        kind=kind,
        file_name=file_name,
        as_on_codabench=phase.as_on_codabench,
        accepts=tuple(phase.accepted_kinds),
        has_ingestion=any(programs),
        needs_command=not all(programs),
        prediction_format=phase.prediction_format,
        grows=phase.grows,
        text_patterns=phase.text_patterns,
        takes_requirements=phase.own_requirements,
    )


def look(contract: Contract, path: Path) -> None:
    """Raise `InvalidFile` for faults that the headers show: names, members, sizes and shapes."""
    if contract.table is not None:
        _look_at_table(contract, path)
        return
    if contract.is_prediction_file:
        _check_prediction(contract, path, values=False)
        return
    names = look_at_zip(path, limits=CODE_LIMITS, what=f"The submission {contract.file_name!r}")
    if names is not None:
        look_at_names(contract, names)


def look_before_upload(contract: Contract, names: Sequence[str]) -> None:
    """Raise `InvalidFile` for faults that the name of a file shows, and of a zip the `names` in it."""
    if contract.is_prediction_file:
        _look_at_file_name(contract, names)
    elif contract.file_name.lower().endswith(".zip"):
        look_at_names(contract, names)


def look_at_names(contract: Contract, names: Sequence[str]) -> None:
    """Raise `InvalidFile` for a zip without a required command, or a dataset without its two folders."""
    if contract.as_on_codabench:
        return
    if contract.kind == Kind.DATASET and contract.grows:
        check_folders(names, contract.file_name)
    if contract.kind == Kind.CODE and contract.needs_command:
        require_command(names, contract.file_name)


def inspect(contract: Contract, path: Path) -> Recognised:
    """Read the whole file and return what it is. Raises `InvalidFile` with the fault and its remedy."""
    if contract.as_on_codabench:
        return _recognised(contract, path)
    if contract.is_prediction_file:
        _check_prediction(contract, path, values=True)
    else:
        names = _read_zip(contract, path)
        look_at_names(contract, names)
        _check_text(contract, path, names)
        return Recognised(contract.kind, Program.NONE, _requirements(contract, path, names))
    return Recognised(contract.kind, Program.NONE)


def _look_at_table(contract: Contract, path: Path) -> None:
    """Name, first bytes, and of a zip its one member."""
    from scoring import ScoringInputError
    from scoring.tables.reading.file_types import require_content

    name = contract.file_name
    try:
        require_content(path, name)
    except ScoringInputError as error:
        raise InvalidFile(error.code, str(error)) from error
    is_zip = name.lower().endswith(".zip")
    names = look_at_zip(path, limits=CODE_LIMITS, what=f"The submission {name!r}") if is_zip else ()
    if names is not None:
        _look_at_file_name(contract, names)


def _look_at_file_name(contract: Contract, names: Sequence[str]) -> None:
    """The official file's name; of a table the ending, in a zip that of the only member."""
    from scoring import ScoringInputError
    from scoring.formats import submissions
    from scoring.tables.reading.file_types import packed_table_format, table_format

    name, official = contract.file_name, contract.prediction_format or {}
    try:
        if contract.table is None:
            submissions.check_name(str(official["dataset"]), str(official["split"]), name)
        elif name.lower().endswith(".zip"):
            packed_table_format(names)
        else:
            table_format(name)
    except ScoringInputError as error:
        raise InvalidFile(error.code, str(error)) from error


def table_check(contract: Contract, path: Path, sample: tuple[Path, str] | None) -> Call:
    """The call that reads a whole table and says its fault, given the sample submission with its name."""
    shown = None if sample is None else (str(sample[0]), sample[1])
    arguments = {"path": str(path), "file_name": contract.file_name, "schema": contract.table, "sample": shown}
    return Call("scoring.tables.commands:find_fault", arguments)


def _read_zip(contract: Contract, path: Path) -> list[str]:
    return check_zip(path, limits=CODE_LIMITS, what=f"The submission {contract.file_name!r}")


def _recognised(contract: Contract, path: Path) -> Recognised:
    """On Codabench's rules nobody says what a file is: the zip and the tasks do."""
    names = _read_zip(contract, path)
    program = _program(path, names)
    is_run = program == Program.COMMAND or (contract.has_ingestion and "code" in contract.accepts)
    kind = Kind.CODE if is_run else Kind.PREDICTION
    if kind not in contract.accepts:
        accepted = " and ".join(str(Kind(name).label) for name in contract.accepts) or "nothing yet"
        raise InvalidFile(
            "kind_not_accepted",
            f"The file {contract.file_name!r} is a {kind} submission, which this phase does not accept. It accepts {accepted}.",
        )
    _check_text(replace(contract, kind=kind), path, names)
    return Recognised(kind, program, _requirements(replace(contract, kind=kind), path, names))


def _requirements(contract: Contract, path: Path, names: list[str]) -> str:
    """The lock file of code, where the phase has it installed. Raises `InvalidFile`."""
    if contract.kind != Kind.CODE or not contract.takes_requirements:
        return ""
    return locked_requirements(path, names)


def _program(path: Path, names: list[str]) -> Program:
    """The program of a zip: a command, if a metadata file at its top level names one."""
    name = next((name for name in METADATA_NAMES if name in names), None)
    if name is None:
        return Program.NONE
    with zipfile.ZipFile(path) as archive, archive.open(name) as member:
        text = member.read(MAX_CHARACTERS).decode("utf-8-sig", errors="replace")
    try:
        metadata = read_plain_yaml(text)
    except NotPlainYaml:
        return Program.METADATA
    return Program.COMMAND if isinstance(metadata, dict) and metadata.get("command") else Program.METADATA


def _check_text(contract: Contract, path: Path, names: list[str]) -> None:
    """Check the text of predictions; what code writes is checked by the worker."""
    if contract.kind == Kind.PREDICTION and (fault := text_fault(path, names, contract.text_patterns)) is not None:
        raise InvalidFile("not_utf8", fault)


def _check_prediction(contract: Contract, path: Path, *, values: bool) -> None:
    """An official file of the dataset and split that the phase names; without `values` its headers alone."""
    from scoring import ScoringInputError
    from scoring.formats import submissions

    prediction_format = contract.prediction_format or {}
    rows = prediction_format.get("rows")
    check = submissions.check if values else submissions.check_headers
    try:
        check(
            path,
            str(prediction_format["dataset"]),
            str(prediction_format["split"]),
            rows=rows if isinstance(rows, int) else None,
            filename=contract.file_name,
        )
    except ScoringInputError as error:
        raise InvalidFile(error.code, str(error)) from error

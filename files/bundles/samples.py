"""Sample submissions of phases that take a table, read by the schema of that table.

Tables are read by the scoring library, which these readers do without: whoever has it gives `find_fault`.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from files.bundles.archive import open_bundle
from files.bundles.faults import InvalidBundle, Report, Where
from files.bundles.reader import BundleReader
from files.bundles.schema import PhaseSpec

TABLE_RULE: Final = "metric.json"  # beside a solution, which has the ids that a sample must have
SOLUTIONS: Final = ("solution.csv", "solution.parquet")


class Sample(NamedTuple):
    """A sample submission, the schema that it must fit, and the solution where that lies as a file."""

    where: Where
    path: Path
    schema: Mapping[str, object]
    solution: Path | None


FindFault = Callable[[Sample], str]  # a sentence; empty for a right one


def table_samples(reader: BundleReader) -> Iterator[Sample]:
    """The samples that lie in the bundle. Nothing of a bundle that could not be read."""
    for phase in reader.spec.phases if reader.spec is not None else ():
        schema = (phase.podium.prediction_format or {}).get("table")
        path = reader.files.file(phase.sample_submission) if phase.sample_submission else None
        if isinstance(schema, dict) and path is not None:
            yield Sample((*phase.where, "sample_submission"), path, schema, _solution(reader, phase))


def _solution(reader: BundleReader, phase: PhaseSpec) -> Path | None:
    """The solution of the phase's first task, if its reference data are for Podium's own table program."""
    assert reader.spec is not None, "its phases were read"
    task = next((task for task in reader.spec.tasks if task.index == phase.tasks[0]), None)
    folder = reader.files.path(task.reference_data) if task is not None and task.reference_data else None
    if folder is None or not (folder / TABLE_RULE).is_file():
        return None
    return next((folder / name for name in SOLUTIONS if (folder / name).is_file()), None)


def read_samples(reader: BundleReader, find_fault: FindFault) -> None:
    """Add the fault of each sample to the report of the bundle, with its line."""
    for sample in table_samples(reader):
        if fault := find_fault(sample):
            message = f"the sample submission does not fit the phase: {fault}"
            reader.report.faults.append(reader.document.note(sample.where, message))


def check_bundle(source: Path, find_fault: FindFault | None = None) -> Report:
    """The report of an import of this zip or folder, as far as there can be one without a site."""
    try:
        with open_bundle(source) as files:
            reader = BundleReader(files)
            if find_fault is not None:
                read_samples(reader, find_fault)
            return reader.report
    except InvalidBundle as error:
        return error.report

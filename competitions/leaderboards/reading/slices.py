"""Scores by slice of a run, from the file of its scoring program, and of many submissions as CSV."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F, QuerySet
from django.http import StreamingHttpResponse

from competitions.catalog.models import Phase
from competitions.disclosure.outputs import SLICES
from competitions.disclosure.readers import Reader
from competitions.disclosure.slices import SliceTable, may_see_slices, slice_tables
from competitions.leaderboards.reading.results import load_boards
from competitions.resources.storage import open_stored
from competitions.runs.models import Run, RunOutput
from competitions.submissions.models import Submission
from competitions.teams.models import Membership
from core.spreadsheets import Echo, csv_download, safe_cell
from scoring.errors import ScoringInputError
from scoring.slices import MAX_BYTES, SlicesFile, read

MOST_RUNS: Final = 500  # in one file, the newest: each is a file that is read
FIELDS: Final = ("submission", "phase", "team", "task", "score", "slicing", "slice", "items", "value", "low", "high")


@dataclass(frozen=True)
class RunSlices:
    """The scores by slice of a run that one reader may see; `remarks` and `fault` for organizers alone."""

    tables: Sequence[SliceTable] = ()
    remarks: tuple[str, ...] = ()
    fault: str = ""


NONE: Final = RunSlices()


def run_slices(reader: Reader, submission: Submission, run: Run, outputs: Sequence[RunOutput]) -> RunSlices:
    """The scores by slice of the run, whose `outputs` these are, as far as this reader may see them.

    None of a smoke run, nor of a run on a dataset of another team, whose labels they would tell.
    """
    phase = submission.phase
    files = [output for output in outputs if output.name == SLICES and output.attempt == run.attempt]
    if not files or not run.scores or run.is_smoke or run.fills_board:
        return NONE
    is_own = reader.once(("is_own", submission.team_id), lambda: _is_member(reader, submission))
    if not may_see_slices(reader, phase, is_own=is_own):
        return NONE
    for_organizers = reader.organizes(phase)
    try:
        content = _content(files[-1])
    except ScoringInputError as error:
        return RunSlices(fault=str(error)) if for_organizers else NONE
    tables = slice_tables(reader, phase, content.scores, is_own=is_own)
    return RunSlices(tables, content.remarks if for_organizers else ())


def _content(output: RunOutput) -> SlicesFile:
    with open_stored(output.file) as file:
        return read(file.read(MAX_BYTES + 1))


def _is_member(reader: Reader, submission: Submission) -> bool:
    user = reader.user
    return user.is_authenticated and Membership.objects.filter(team=submission.team_id, user=user).exists()


def have_slices(submissions: Sequence[Submission]) -> bool:
    """True where a run of one of them brought scores by slice."""
    return RunOutput.objects.filter(name=SLICES, run__submission__in=submissions).exists()


def slices_csv(
    submissions: QuerySet[Submission], phases: Sequence[Phase], reader: Reader, *, name: str
) -> StreamingHttpResponse:
    """A download of the scores by slice of these submissions, the newest first: a line for each slice.

    Of the newest 500 runs that have some.
    """
    load_boards(phases)
    return csv_download(_lines(submissions, {phase.pk: phase for phase in phases}, reader), name)


def _lines(submissions: QuerySet[Submission], phases: dict[int, Phase], reader: Reader) -> Iterator[str]:
    writer: Any = csv.writer(Echo())
    yield writer.writerow(FIELDS)
    files = RunOutput.objects.filter(name=SLICES, attempt=F("run__attempt"), run__submission__in=submissions)
    rows = files.select_related("file", "run__task", "run__submission__team").order_by("-run__submission_id", "-pk")
    for output in rows[:MOST_RUNS].iterator(chunk_size=100):
        run, submission = output.run, output.run.submission
        submission.phase = phases[submission.phase_id]
        about = [submission.pk, submission.phase.slug, safe_cell(submission.team.name), safe_cell(run.task.name)]
        for table in run_slices(reader, submission, run, [output]).tables:
            names = safe_cell(table.column.key), safe_cell(table.name)
            for row in table.rows:
                yield writer.writerow([*about, *names, safe_cell(row.value), row.items, row.score, row.low, row.high])

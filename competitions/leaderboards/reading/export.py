"""A board, and all submissions, as CSV: written while they are read."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from django.db.models import Prefetch, QuerySet
from django.http import StreamingHttpResponse

from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import gives_exact_scores, visible_columns
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.fact_columns import SOURCE, VERIFIED, FactColumn
from competitions.leaderboards.ranking.values import meter_value
from competitions.leaderboards.reading.board import all_rows
from competitions.leaderboards.reading.columns import CellState, DatasetColumn, ShownColumn, page_columns
from competitions.leaderboards.reading.results import (
    ScoredSubmission,
    known_results,
    load_boards,
    submission_columns,
    with_scores,
)
from competitions.leaderboards.reading.uncertainty import board_uncertainty, row_uncertainty
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from core.spreadsheets import Echo, csv_download, safe_cell
from workers.protocol.calls import METERED

UNCERTAINTY: Final = ("low", "high", "first_rank", "last_rank", "tier", "beats_above_percent", "stays_top_percent")


def csv_lines(board: Leaderboard) -> Iterator[str]:
    """Header and rows. Values are as shown on the page; a baseline has no rank."""
    columns = page_columns(board, board.visible_columns)
    sure = UNCERTAINTY if board_uncertainty(board) else ()
    writer: Any = csv.writer(Echo())
    yield writer.writerow(
        [
            "rank",
            "team",
            *(_heading(column) for column in columns),
            "submissions",
            "achieved_at",
            "last_at",
            "baseline",
            "verified_s",
            "commit",
            "link",
            *sure,
        ]
    )
    for row in all_rows(board):
        entry = row.entry
        yield writer.writerow(
            [
                row.rank or "",
                safe_cell(entry.team.name),
                *(_value(column, entry.values) for column in columns),
                entry.submissions,
                entry.achieved_at.isoformat(),
                entry.last_at.isoformat(),
                "yes" if entry.is_baseline else "no",
                entry.values.get(VERIFIED, {}).get("wall_s", ""),
                *(safe_cell(entry.values.get(SOURCE, {}).get(name, "")) for name in ("commit", "link")),
                *(_uncertainty(board, entry) if sure else ()),
            ]
        )


def _uncertainty(board: Leaderboard, entry: Entry) -> list[object]:
    uncertainty = row_uncertainty(board, entry)
    values = uncertainty.as_json() if uncertainty else {}
    return ["" if values.get(name) is None else values[name] for name in UNCERTAINTY]


def _heading(column: ShownColumn) -> str:
    return safe_cell(column.heading) if isinstance(column, DatasetColumn) else column.key


def _value(column: ShownColumn, values: Mapping[str, Any]) -> str:
    """The value as shown; on a submitted dataset it may be "failed", and is empty before it was run."""
    if isinstance(column, DatasetColumn) and column.state_in(values) == CellState.FAILED:
        return str(CellState.FAILED)
    shown = column.shown_in(values) or ""
    is_of_team = isinstance(column, FactColumn) and not column.is_sortable  # the team's own words
    return safe_cell(shown) if is_of_team else shown


def csv_response(board: Leaderboard) -> StreamingHttpResponse:
    """A download that is written while the rows are read."""
    which = "" if board.key == "main" else f"-{board.key}"
    return csv_download(csv_lines(board), f"{board.phase.competition.slug}-{board.phase.slug}{which}")


AT_ONCE: Final = 500  # rows in memory
FIELDS: Final[Mapping[str, Callable[[Submission], object]]] = {
    "id": lambda submission: submission.pk,
    "phase": lambda submission: submission.phase.slug,
    "team": lambda submission: safe_cell(submission.team.name),
    "submitted_by": lambda submission: safe_cell(submission.submitted_by.username),
    "kind": lambda submission: submission.kind,
    "file_name": lambda submission: safe_cell(submission.file_name),
    "sha256": lambda submission: submission.file_id,
    "description": lambda submission: safe_cell(submission.description),
    "tags": lambda submission: safe_cell(" ".join(submission.tags)),
    "commit": lambda submission: safe_cell(submission.commit),
    "link": lambda submission: safe_cell(submission.link),
    "received_at": lambda submission: submission.received_at.isoformat(),
    "finished_at": lambda submission: submission.finished_at.isoformat() if submission.finished_at else "",
    "status": lambda submission: submission.status,
    "reason": lambda submission: submission.reason,
    "counts_towards_quota": lambda submission: _word(submission.is_charged),
    "late": lambda submission: _word(submission.is_late),
    "disqualified": lambda submission: (
        safe_cell(submission.disqualified_reason) if submission.disqualified_at else "no"
    ),
    "smoke_run": lambda submission: _word(submission.is_smoke),
    "verification": lambda submission: _word(submission.is_verification),
    "run_again_from": lambda submission: submission.rerun_of_id or "",
}
Shown = tuple[Leaderboard, Column]


def submissions_csv(
    submissions: QuerySet[Submission], phases: Sequence[Phase], reader: Reader, *, name: str
) -> StreamingHttpResponse:
    """A download of these submissions, newest first, with a column for each score that the reader sees."""
    load_boards(phases)
    shown = [
        (board, column)
        for phase in phases
        for board in phase.leaderboards.all()
        for column in visible_columns(reader, board)
    ]
    return csv_download(_lines(submissions, {phase.pk: phase for phase in phases}, shown, reader), name)


def _lines(
    submissions: QuerySet[Submission], phases: dict[int, Phase], shown: Sequence[Shown], reader: Reader
) -> Iterator[str]:
    writer: Any = csv.writer(Echo())
    yield writer.writerow([*FIELDS, "has_sealed_scores", *METERED, *_headings(shown, has_one_phase=len(phases) == 1)])
    for scored in _scored(submissions, phases):
        yield writer.writerow(
            [
                *(field(scored.submission) for field in FIELDS.values()),
                _word(known_results(scored, reader).withholds_scores),
                *_meters(scored.submission),
                *(_score(scored, board, column, reader) for board, column in shown),
            ]
        )


def _headings(shown: Sequence[Shown], *, has_one_phase: bool) -> Iterable[str]:
    """The keys of the columns; with phase and board before them where there are several phases or boards."""
    if has_one_phase and len({board.pk for board, _ in shown}) < 2:
        return [safe_cell(column.key) for _, column in shown]
    return [safe_cell(f"{board.phase.slug}/{board.key}/{column.key}") for board, column in shown]


def _scored(submissions: QuerySet[Submission], phases: dict[int, Phase]) -> Iterator[ScoredSubmission]:
    """The submissions, some hundred at a time: neither memory nor a query grows with their number."""
    runs = Run.objects.only("submission", "meters", "is_smoke", "fills_board")
    rows = submissions.select_related("team", "submitted_by").prefetch_related(Prefetch("runs", runs)).order_by("-pk")
    before: int | None = None
    while True:
        some = list((rows if before is None else rows.filter(pk__lt=before))[:AT_ONCE])
        for submission in some:
            submission.phase = phases[submission.phase_id]
        yield from with_scores(some)
        if len(some) < AT_ONCE:
            return
        before = some[-1].pk


def _meters(submission: Submission) -> list[float | str]:
    """Measured use over the submission's runs, without smoke runs that come before others."""
    runs = [run for run in submission.runs.all() if not run.fills_board and run.is_smoke == submission.is_smoke]
    return ["" if (value := meter_value(key, runs)) is None else value for key in METERED]


def _word(value: bool) -> str:
    return "yes" if value else "no"


def _score(scored: ScoredSubmission, board: Leaderboard, column: Column, reader: Reader) -> str:
    score = scored.scores.get(board.pk)
    is_seen = column in submission_columns(reader, scored.submission, board)
    value = score.values.get(column.key) if score is not None and is_seen else None
    if value is None:
        return ""
    return column.exact(value) if reader.organizes(board.phase) or gives_exact_scores(board) else column.shown(value)

"""Codabench's calls on boards: their rows, results as files, and what a team puts on one."""

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, TypedDict

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from rest_framework.request import Request
from rest_framework.response import Response

from competitions.catalog.models import Column, Competition, Leaderboard, Phase
from competitions.codabench_api.base import BadForm, RobotView, ShownView
from competitions.codabench_api.refused import MANAGED_ELSEWHERE
from competitions.codabench_api.shapes import ScoreLine, board_shape, column_shapes, score_line
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import SEALED, may_know_board, may_see_board, may_see_scores
from competitions.leaderboards.models import Entry
from competitions.leaderboards.picks import pick_add, pick_remove
from competitions.leaderboards.ranking.fact_columns import FactColumn, fact_columns
from competitions.leaderboards.ranking.values import task_key
from competitions.leaderboards.reading.board import Row, ranked_rows
from competitions.submissions.models import Submission
from core.refusals import RefusalKind
from core.spreadsheets import safe_cell

MOST_ROWS: Final = 5_000  # a request may take a moment; 20,000 took three seconds


class BoardRow(TypedDict):
    id: int
    submission: int
    rank: int | None
    owner: str
    parent: None
    slug_url: None
    organization: None
    is_baseline: bool
    created_when: str
    scores: list[ScoreLine]
    fact_sheet_answers: dict[str, object]


def visible_board(reader: Reader, phase: Phase) -> Leaderboard:
    """The phase's main board, for those who may see it. Raises `SEALED` or 404."""
    board = phase.main_board
    if board is None:
        raise Http404
    require_visible(reader, board)
    return board


def require_visible(reader: Reader, board: Leaderboard) -> None:
    """Raises `SEALED` or 404 for whoever may not see the board."""
    if not may_know_board(reader, board):
        raise Http404
    if not may_see_scores(reader, board):
        raise SEALED(board=board)


RESULTS_TOO_LARGE: Final = RefusalKind(
    409,
    "results_too_large",
    "These leaderboards have {rows:,} rows, and at most {limit:,} are put into one answer. Name a phase (`?phase=`), or "
    "fetch /competitions/SLUG/PHASE/leaderboard.csv, which is sent row by row.",
)


def board_with_rows(board: Leaderboard) -> dict[str, object]:
    """A board with its tasks and every row, best first, in Codabench's words. Raises `RESULTS_TOO_LARGE`."""
    tasks, facts = list(board.phase.tasks.order_by("pk")), fact_columns(board.phase)
    listed = column_shapes(board.visible_columns)
    return board_shape(board) | {
        "tasks": [{"id": task.pk, "name": task.name, "colWidth": len(listed), "columns": listed} for task in tasks],
        "fact_sheet_keys": [[fact.question.key, fact.title] for fact in facts] or None,
        "submissions": _rows(board, [task.pk for task in tasks], facts),
    }


def _rows(board: Leaderboard, tasks: list[int], facts: list[FactColumn]) -> list[BoardRow]:
    if board.entry_count > MOST_ROWS:
        raise RESULTS_TOO_LARGE(rows=board.entry_count, limit=MOST_ROWS)
    entries = Entry.objects.filter(leaderboard=board).select_related("team", "score__submission")
    columns = board.visible_columns
    tasks = tasks if board.shows_each_task or len(tasks) == 1 else []
    return [row_shape(row, columns, tasks, facts) for row in ranked_rows(entries.order_by(*Entry.IN_ORDER))]


def row_shape(row: Row, columns: list[Column], tasks: list[int], facts: list[FactColumn]) -> BoardRow:
    """A row: whose it is, each score for each of these tasks, else over all, and answers for everybody."""
    entry, values = row.entry, row.entry.values
    submission = entry.score.submission_id
    return {
        "id": submission,
        "submission": submission,
        "rank": row.rank,
        "owner": entry.team.name,
        "parent": None,
        "slug_url": None,
        "organization": None,
        "is_baseline": entry.is_baseline,
        "created_when": entry.score.submission.created_at.isoformat(),
        "scores": [line for column in columns for line in _score_lines(column, submission, values, tasks)],
        "fact_sheet_answers": {fact.question.key: values[fact.key] for fact in facts if fact.key in values},
    }


def _score_lines(column: Column, submission: int, values: Mapping[str, float], tasks: list[int]) -> Iterator[ScoreLine]:
    by_task: list[tuple[int | None, float]] = [
        (task, values[task_key(column.key, task)]) for task in tasks if task_key(column.key, task) in values
    ]
    if not by_task and column.key in values:
        by_task = [(tasks[0] if len(tasks) == 1 else None, values[column.key])]
    for task, value in by_task:
        yield score_line(column, submission, task, column.shown(value))


class PhaseBoard(RobotView):
    """A phase's board with its rows."""

    def get(self, request: Request, pk: int) -> Response:
        phase = get_object_or_404(Phase.objects.visible_to(request.user).select_related("competition"), pk=pk)
        return Response(board_with_rows(visible_board(self.reader, phase)))


class BoardView(ShownView):
    """A board by its own number, with its rows."""

    def board(self, pk: int) -> Leaderboard:
        phases = Phase.objects.visible_to(self.request.user)
        board = get_object_or_404(Leaderboard.objects.select_related("phase__competition"), pk=pk, phase__in=phases)
        require_visible(self.reader, board)
        return board

    def refuse(self, pk: int) -> NoReturn:
        where = reverse("organize:boards", args=[self.board(pk).phase.competition.slug])
        raise MANAGED_ELSEWHERE(what="Leaderboards are made, changed and deleted", where=where)

    def get(self, request: Request, pk: int) -> Response:
        return Response(board_with_rows(self.board(pk)))


class Results(RobotView):
    """Boards of a competition or of one phase: as JSON, as one CSV, or as a zip with a CSV for each."""

    parameters = ("phase",)

    def get(self, request: Request, pk: int, form: str) -> HttpResponse:
        competition = get_object_or_404(Competition.objects.visible_to(request.user), pk=pk)
        boards = self._boards(competition)
        if (rows := sum(board.entry_count for board in boards)) > MOST_ROWS:
            raise RESULTS_TOO_LARGE(rows=rows, limit=MOST_ROWS)
        if form == "csv" and len(boards) > 1:
            raise BadForm("There are several leaderboards. Name a phase (`?phase=`), or take results.zip.")
        tables = {f"{board.title} - {board.phase.name}({board.phase_id})": results_table(board) for board in boards}
        if form == "json":
            return Response({title: table.by_owner() for title, table in tables.items()})
        if form == "zip":
            return _file(_zipped(tables), "application/zip", f"{competition.slug}.zip")
        text = "".join(table.as_csv() for table in tables.values())
        return _file(text.encode(), "text/csv", f"{competition.slug}.csv")

    def _boards(self, competition: Competition) -> list[Leaderboard]:
        """The boards that the asker may see. A phase that is asked for must exist and have one."""
        number = self.query_number("phase")
        if number is not None:
            return [visible_board(self.reader, get_object_or_404(competition.phases, pk=number))]
        boards = [phase.main_board for phase in competition.phases.all()]
        return [board for board in boards if board is not None and may_see_board(self.reader, board)]


@dataclass(frozen=True)
class Table:
    """A board's rows as text: whose each is, which submission, and a value or nothing for each column."""

    columns: list[str]
    rows: list[tuple[str, int, list[str]]]

    def by_owner(self) -> dict[str, dict[str, str]]:
        """Values by owner and column; a team's further rows have the submission's number behind its name."""
        values_by_owner: dict[str, dict[str, str]] = {}
        for owner, submission, values in self.rows:
            name = owner if owner not in values_by_owner else f"{owner}-{submission}"
            values_by_owner[name] = dict(zip(self.columns, values, strict=True))
        return values_by_owner

    def as_csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["Username", *map(safe_cell, self.columns)])
        writer.writerows([safe_cell(owner), *map(safe_cell, values)] for owner, _, values in self.rows)
        return text.getvalue()


def results_table(board: Leaderboard) -> Table:
    """Every row, best first, with the answers for everybody, then each column for each task."""
    tasks, facts = {task.pk: task.name for task in board.phase.tasks.order_by("pk")}, fact_columns(board.phase)
    board_rows = _rows(board, list(tasks), facts)
    titles = {column.key: column.title for column in board.visible_columns}
    scores = dict.fromkeys((line["task_id"], line["column_key"]) for row in board_rows for line in row["scores"])
    names = [f"{tasks[task]}({task})-{titles[key]}" if task in tasks else titles[key] for task, key in scores]
    rows = []
    for row in board_rows:
        values = {(line["task_id"], line["column_key"]): line["score"] for line in row["scores"]}
        answers = [str(row["fact_sheet_answers"].get(fact.question.key, "")) for fact in facts]
        rows.append((row["owner"], row["id"], [*answers, *(values.get(score, "") for score in scores)]))
    return Table([*(fact.title for fact in facts), *names], rows)


def _file(content: bytes, content_type: str, name: str) -> HttpResponse:
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=content_type, headers=disposition)


def _zipped(tables: Mapping[str, Table]) -> bytes:
    """A CSV for each board, as it is: a request compresses nothing, and `MOST_ROWS` bounds what it writes.

    Its name in the archive is in letters that every system takes, with a number before it.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, (title, table) in enumerate(tables.items(), start=1):
            archive.writestr(f"{number}-{slugify(title)[:60] or 'phase'}.csv", table.as_csv())
    return packed.getvalue()


class BoardConnection(RobotView):
    """Put a submission on its phase's board or take it off, where the board's rule allows that."""

    def _board(self, pk: int) -> tuple[Submission, Leaderboard]:
        submission = self.submission(pk)
        board = submission.phase.main_board
        if board is None or not may_know_board(self.reader, board):
            raise Http404
        return submission, board

    def post(self, request: Request, pk: int) -> Response:
        submission, board = self._board(pk)
        pick_add(board=board, submission=submission, by=self.person(), now=timezone.now())
        return Response({}, status=201)

    def delete(self, request: Request, pk: int) -> Response:
        submission, board = self._board(pk)
        pick_remove(board=board, submission=submission, by=self.person(), now=timezone.now())
        return Response({})

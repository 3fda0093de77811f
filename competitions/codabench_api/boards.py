"""Codabench's calls on boards: their rows, results as files, and what a team puts on one."""

import csv
import io
import zipfile
from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.text import slugify
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.codabench_api.base import RobotView
from competitions.codabench_api.shapes import board_shape
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import Sealed, may_know_of, may_see_scores
from competitions.leaderboards.picks import pick_add, pick_remove
from competitions.leaderboards.ranking.fact_columns import fact_columns
from competitions.leaderboards.reading.board import all_rows
from core.numbers import is_number
from core.spreadsheets import safe_cell


def visible_board(reader: Reader, phase: Phase) -> Leaderboard:
    """The phase's main board, for those who may see it. Raises `Sealed` or 404."""
    board = phase.main_board
    if board is None or not may_know_of(reader, board):
        raise Http404
    if not may_see_scores(reader, board):
        raise Sealed(board)
    return board


def rows_of(board: Leaderboard) -> list[dict[str, Any]]:
    """Every row: the team, its submission, its values as they are shown, and what it answered for everybody."""
    columns = board.visible_columns
    facts = fact_columns(board.phase)
    return [
        {
            "rank": row.rank, "owner": row.entry.team.name, "submission": row.entry.score.submission_id,
            "scores": {column.key: column.shown(row.entry.values[column.key]) for column in columns if column.key in row.entry.values},
            "fact_sheet_answers": {fact.question.key: row.entry.values[fact.key] for fact in facts if fact.key in row.entry.values},
        }
        for row in all_rows(board)
    ]  # fmt: skip


class PhaseBoard(RobotView):
    """A phase's board with its rows."""

    def get(self, request: Request, pk: int) -> Response:
        phase = get_object_or_404(Phase.objects.visible_to(request.user).select_related("competition"), pk=pk)
        board = visible_board(self.reader, phase)
        return Response(board_shape(board) | {"submissions": rows_of(board)})


class Results(RobotView):
    """The boards of a competition, or of the phase that is asked for, as JSON, as CSV, or as a zip of one CSV a phase."""

    def get(self, request: Request, pk: int, form: str) -> HttpResponse:
        competition = get_object_or_404(Competition.objects.visible_to(request.user), pk=pk)
        asked = request.query_params.get("phase", "")
        phases = competition.phases.filter(pk=int(asked)) if is_number(asked) else competition.phases.all()
        found = {}
        for phase in phases:
            try:
                name = phase.name if phase.name not in found else f"{phase.name} ({phase.slug})"
                found[name] = rows_of(visible_board(self.reader, phase))
            except (Sealed, Http404):
                if asked:
                    raise
        if form == "json":
            return Response(found)
        if form == "zip":
            return HttpResponse(_zipped(found), content_type="application/zip")
        return HttpResponse(_as_csv(found), content_type="text/csv")


def _as_csv(found: Mapping[str, list[dict[str, Any]]]) -> str:
    """The rows of these phases, a line for each value."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["phase", "rank", "owner", "submission", "column", "score"])
    for name, rows in found.items():
        for row in rows:
            writer.writerows(
                [safe_cell(name), row["rank"], safe_cell(row["owner"]), row["submission"], key, value]
                for key, value in row["scores"].items()
            )
    return text.getvalue()


def _zipped(found: Mapping[str, list[dict[str, Any]]]) -> bytes:
    """A CSV for each phase, as it is: a request compresses nothing.

    Its name in the archive is in letters that every system takes, with a number before it.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, (name, rows) in enumerate(found.items(), start=1):
            archive.writestr(f"{number}-{slugify(name)[:60] or 'phase'}.csv", _as_csv({name: rows}))
    return packed.getvalue()


class BoardConnection(RobotView):
    """Put a submission on its phase's board, or take it off, as far as the board's rule lets the team do that."""

    write_scope = Scope.SUBMIT

    def _board(self, pk: int) -> tuple[Any, Leaderboard]:
        submission = self.submission(pk)
        return submission, get_object_or_404(Leaderboard.objects.filter(phase=submission.phase_id)[:1])

    def post(self, request: Request, pk: int) -> Response:
        submission, board = self._board(pk)
        pick_add(board=board, submission=submission, by=self.person(), now=timezone.now())
        return Response({}, status=201)

    def delete(self, request: Request, pk: int) -> Response:
        submission, board = self._board(pk)
        pick_remove(board=board, submission=submission, by=self.person(), now=timezone.now())
        return Response({})

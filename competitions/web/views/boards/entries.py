"""Pages behind a board's row: the entry's history, the team, and public detailed results."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from csp.decorators import csp_exempt
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from accounts.views import open_page
from competitions.catalog.models import Column, Leaderboard
from competitions.catalog.questions import shown_answer
from competitions.disclosure.scores import scores_are_public
from competitions.factsheets.models import Question
from competitions.factsheets.services import fact_sheet_questions
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.entries import entry_rank
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.board import first_entry
from competitions.leaderboards.reading.columns import page_columns, shown_values
from competitions.leaderboards.reading.uncertainty import row_uncertainty
from competitions.submissions.models import Submission
from competitions.teams.models import Team
from competitions.web.details import detailed_runs, details_response
from competitions.web.presentation.board_rows import improvements
from competitions.web.presentation.charts import improvement_chart
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit
from core.design.charts import Chart

ROWS_READ = 500


def find_entry(request: HttpRequest, pk: int) -> tuple[Entry, Visit, Leaderboard]:
    """A board's row with its reader. 404 for who may not see the board, so that numbers reveal nothing."""
    rows = Entry.objects.select_related("team", "uncertainty", "score__submission__phase__competition")
    entry: Entry = get_object_or_404(rows, pk=pk)
    submission = entry.score.submission
    visited = visit(request, submission.phase.competition.slug)
    board = _visible_board(entry, visited)
    if board is None:
        raise Http404
    entry.leaderboard = board
    return entry, visited, board


def _visible_board(entry: Entry, visited: Visit) -> Leaderboard | None:
    """The row's board with its phase, as the visit read them; None where this person may not see it."""
    boards = (board for phase in visited.phases_with_boards for board in phase.leaderboards.all())
    board = next(board for board in boards if board.pk == entry.leaderboard_id)
    return board if visited.can_see_board(board) else None


@open_page
def entry(request: HttpRequest, pk: int) -> HttpResponse:
    """One row of a board: its score over time, its values, and the team's public answers."""
    entry, visited, board = find_entry(request, pk)
    columns = page_columns(board, board.visible_columns, has_facts=False)
    primary = _shown_primary(board)
    context = {
        "phase": board.phase,
        "board": board,
        "entry": entry,
        "detailed": detailed_runs(entry, board),
        "rank": entry_rank(entry),
        "sure": row_uncertainty(board, entry),
        "primary": primary,
        "gap": _gap(board, entry, primary) if primary else "",
        "values": list(zip(columns, shown_values(columns, entry.values), strict=True)),
        "answers": _public_answers(board, entry.score.submission),
        "steps": _steps(entry, primary),
        "badge_url": settings.SITE_URL + reverse("web:badge", args=[entry.pk]) if scores_are_public(board) else "",
        "chart": _chart(entry, primary, visited.now),
    }
    return render_tab(request, visited, "web/leaderboard/entry.html", context, tab="leaderboard")


def _shown_primary(board: Leaderboard) -> Column | None:
    primary = primary_column(list(board.columns.all()))
    return primary if primary in board.visible_columns else None


def _gap(board: Leaderboard, entry: Entry, primary: Column) -> str:
    """The difference from the first row, as shown; empty for the first, or without a score."""
    leader = first_entry(board)
    if leader is None or leader.pk == entry.pk or primary.key not in entry.values or primary.key not in leader.values:
        return ""
    ours, best = (round(row.values[primary.key], primary.precision) for row in (entry, leader))
    return f"{ours - best:+.{primary.precision}f}"


def _public_answers(board: Leaderboard, submission: Submission) -> list[tuple[Question, str]]:
    questions = (question for question in fact_sheet_questions(board.phase) if question.is_public)
    return [
        (question, shown_answer(submission.fact_sheet[question.key]))
        for question in questions
        if question.key in submission.fact_sheet
    ]


def _steps(entry: Entry, primary: Column | None) -> list[tuple[datetime, str]]:
    """The team's way to this score, newest first."""
    steps = improvements(entry, primary) if primary else []
    return [(at, primary.shown(value)) for at, value in reversed(steps)] if primary else []


def _chart(entry: Entry, primary: Column | None, now: datetime) -> Chart | None:
    steps = improvements(entry, primary) if primary else []
    if primary is None or len(steps) < 2:
        return None
    return improvement_chart(steps, primary, entry.team.name, until=min(now, entry.leaderboard.phase.closes_at or now))


@open_page
def team(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    """A team's public page: people and visible rows. 404 without such a row, so as not to reveal teams."""
    visited = visit(request, slug)
    team = get_object_or_404(Team, competition=visited.competition, key=key, merged_into=None)
    rows = [(entry, board) for entry in _best_rows(team) if (board := _visible_board(entry, visited))]
    if not rows:
        raise Http404
    for entry, board in rows:
        entry.team, entry.leaderboard = team, board
    context: dict[str, object] = {
        "team": team,
        "members": team.memberships.select_related("user__profile"),
        "rows": [_row_of_team(entry, board) for entry, board in rows],
        "chart": next(
            (chart for entry, board in rows if (chart := _chart(entry, _shown_primary(board), visited.now))), None
        ),
    }
    return render_tab(request, visited, "web/teams/public_team.html", context, tab="leaderboard")


def _best_rows(team: Team) -> Iterable[Entry]:
    """The team's best row on each board; on some it may have many."""
    entries = Entry.objects.filter(team=team).select_related("score__submission").order_by(*Entry.IN_ORDER)
    best: dict[int, Entry] = {}
    for entry in entries[:ROWS_READ]:
        best.setdefault(entry.leaderboard_id, entry)
    return best.values()


def _row_of_team(entry: Entry, board: Leaderboard) -> dict[str, object]:
    primary = _shown_primary(board)
    return {
        "entry": entry,
        "board": board,
        "rank": entry_rank(entry),
        "primary": primary,
        "score": primary.shown_in(entry.values) if primary else None,
        "answers": _public_answers(board, entry.score.submission),
    }


@login_not_required
@csp_exempt()  # type: ignore[arg-type]  # its types know no view with arguments
@require_safe
@xframe_options_sameorigin
def entry_details(request: HttpRequest, pk: int, run_id: UUID) -> HttpResponse:
    """The detailed results of a row's submission, where they are public."""
    entry, _, board = find_entry(request, pk)
    run = next((candidate for candidate in detailed_runs(entry, board) if candidate.pk == run_id), None)
    if run is None:
        raise Http404
    return details_response(run)

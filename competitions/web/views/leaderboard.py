"""The Leaderboard page: one phase's board, its history, its CSV. Unchanged boards answer 304."""

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.shortcuts import redirect
from django.template.loader import get_template
from django.views.decorators.http import require_GET

from competitions.catalog.models import Phase
from competitions.leaderboards.board import (
    best_over_time,
    board_page,
    entry_of,
    rank_of,
    team_over_time,
    visible_columns,
)
from competitions.leaderboards.export import csv_response
from competitions.leaderboards.models import Column, Leaderboard
from competitions.leaderboards.services import primary_column
from competitions.leaderboards.visibility import Sealed
from competitions.web.plots import score_plot
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, team_of_visit, visit

RELEASE = version("podium")  # a new release may draw the page differently


def board_of(phase: Phase | None) -> Leaderboard | None:
    """The phase's board, fetched with it; None where there is none."""
    return getattr(phase, "leaderboard", None) if phase else None


def etag_of(request: HttpRequest, visited: Visit, board: Leaderboard) -> str:
    """Changes with the board, with who looks, and with what of the competition they are shown."""
    competition = visited.competition
    phases = [(one.slug, one.name, one.closes_at, one.revealed_at, one.is_open(visited.now)) for one in visited.phases]
    parts: list[Any] = [
        RELEASE, board.pk, board.version, phases, competition.title, competition.subtitle, competition.host,
        competition.is_published, visited.user.pk, visited.team_id, visited.next_step, visited.registration_state,
        visited.is_organizer, visited.is_invited, visited.can_see_board(board), request.get_full_path(), request.headers.get("HX-Request"),
    ]  # fmt: skip
    return f'"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"'


@require_GET
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    visited = visit(request, slug)
    phase = visited.phase(request.GET.get("phase"))
    if phase is None and request.GET.get("phase"):
        raise Http404
    board = board_of(phase)
    if phase is None or board is None or not visited.can_see_board(board):
        return render_tab(request, visited, "leaderboard", {"phase": phase, "board": board, "rows": None})
    etag = etag_of(request, visited, board)
    if request.headers.get("If-None-Match") == etag:
        return HttpResponseNotModified(headers={"ETag": etag})
    response = _render(request, visited, phase, board, etag)
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _render(request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard, etag: str) -> HttpResponse:
    """The page. Visitors who are not signed in all get the same one, so it is rendered once for each version of the board."""
    same_for_all = not request.user.is_authenticated and set(request.COOKIES) <= {settings.CSRF_COOKIE_NAME}
    if same_for_all and (body := caches["pages"].get(etag)):
        return HttpResponse(body)
    response = render_tab(request, visited, "leaderboard", _board_context(request, visited, phase, board))
    if same_for_all:
        caches["pages"].set(etag, response.content)
    return response


@dataclass(frozen=True)
class DrawnPage:
    """The rows of one page of a board as HTML, each with its team's id: the same for everybody who may see the board."""

    rows: list[tuple[int, str]]
    next_cursor: str | None


def _drawn(board: Leaderboard, columns: list[Column], cursor: str | None) -> DrawnPage:
    """A page's rows, drawn once for each version of the board; fifty rows take longer to draw than all else of the page."""
    key = f"rows:{RELEASE}:{board.pk}:{board.version}:{hashlib.sha256((cursor or '').encode()).hexdigest()}"
    drawn: DrawnPage | None = caches["pages"].get(key)
    if drawn is None:
        page = board_page(board, cursor=cursor)
        template = get_template("web/_board_row.html")
        rows = [
            (row.entry.team_id, template.render({"rank": row.rank, "entry": row.entry, "columns": columns}))
            for row in page.rows
        ]
        drawn = DrawnPage(rows, page.next_cursor)
        caches["pages"].set(key, drawn)
    return drawn


def _board_context(request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard) -> dict[str, Any]:
    columns = visible_columns(board)
    page = _drawn(board, columns, request.GET.get("cursor"))
    mine = entry_of(board, visited.team_id) if visited.team_id else None
    return {
        "phase": phase,
        "board": board,
        "columns": columns,
        "primary": primary_column(columns),
        "rows": page.rows,
        "next_cursor": page.next_cursor,
        "is_first_page": not request.GET.get("cursor"),
        "mine": mine,
        "my_rank": rank_of(mine) if mine else None,
    }


@require_GET
def leaderboard_csv(request: HttpRequest, slug: str, phase_slug: str) -> HttpResponseBase:
    visited = visit(request, slug)
    phase = visited.phase(phase_slug)
    board = board_of(phase)
    if phase is None or board is None:
        raise Http404
    if not visited.can_see_board(board):
        raise Sealed(phase)
    return csv_response(board)


@require_GET
def history(request: HttpRequest, slug: str) -> HttpResponse:
    """Score over time: the board's best and, for a member, the team's own submissions; a plot and its table."""
    visited = visit(request, slug)
    phase = visited.phase(request.GET.get("phase"))
    board = board_of(phase)
    if phase is None or board is None:
        raise Http404
    if not visited.can_see_board(board):
        return redirect(f"{visited.url('leaderboard')}?phase={phase.slug}")  # which says why there is nothing to see
    primary = primary_column(visible_columns(board))
    if primary is None:
        raise Http404
    best = [(one.received_at, one.score.values[primary.key], one.score.team.name) for one in best_over_time(board)]
    team = team_of_visit(visited)
    own = [(score.received_at, score.values[primary.key]) for score in team_over_time(board, team)] if team else []
    context = {
        "phase": phase,
        "board": board,
        "primary": primary,
        "best": [(at, primary.shown(value), name) for at, value, name in best],
        "own": [(at, primary.shown(value)) for at, value in own],
        "plot": score_plot([(at, value) for at, value, _ in best], own, primary),
    }
    return render_tab(request, visited, "history", context)

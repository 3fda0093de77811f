"""The Leaderboard page: one phase's board, its history, its CSV. Unchanged boards answer 304."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from csp.decorators import csp_exempt
from django.conf import settings
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import get_template
from django.utils.cache import get_conditional_response
from django.utils.safestring import SafeString
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.questions import shown_answer
from competitions.disclosure.scores import details_are_public, may_know_of, refusal_of
from competitions.factsheets.answers import questions_of
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.values import deciding_column, primary_column
from competitions.leaderboards.reading.board import (
    BoardPage,
    UnknownSort,
    best_over_time,
    board_page,
    entry_of,
    rank_of,
    team_over_time,
)
from competitions.leaderboards.reading.columns import (
    DatasetPages,
    ShownColumn,
    datasets_named,
    datasets_page,
    page_columns,
    shown_values,
)
from competitions.leaderboards.reading.export import csv_response
from competitions.leaderboards.sealing.commitments import commitment_of
from competitions.web.conditional import RELEASE, board_etag
from competitions.web.details import detailed_entries, detailed_runs, details_response
from competitions.web.presentation.charts import score_chart
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, team_of_visit, visit
from core.numbers import is_number


@require_safe
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    visited = visit(request, slug)
    phase = visited.phase(request.GET.get("phase"))
    board = visited.board(phase, request.GET.get("board"))
    if (phase is None and request.GET.get("phase")) or (board is None and request.GET.get("board")):
        raise Http404
    if phase is None or board is None or not visited.can_see_board(board):
        shown: dict[str, Any] = {"phase": phase, "board": board, "boards": boards_shown(visited, phase), "rows": None}
        shown["commitment"] = commitment_of(board) if board is not None else None
        return render_tab(request, visited, "leaderboard", shown)
    etag = board_etag(request, visited, board)
    unchanged = get_conditional_response(request, etag=etag)
    response = unchanged or _render(request, visited, phase, board, etag)
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


def boards_shown(visited: Visit, phase: Phase | None) -> list[Leaderboard]:
    """The boards to choose from: a hidden one is no secret to those who may see it alone."""
    boards = phase.leaderboards.all() if phase else []
    return [board for board in boards if may_know_of(visited.reader, board)]


@dataclass(frozen=True)
class DrawnPage:
    """The rows of one page of a board as HTML, each with its number: the same for everybody who may see the board."""

    rows: list[tuple[int, str]]
    ranks: dict[int, int | None]  # by number
    next_cursor: str | None

    def around(self, number: int | None) -> tuple[SafeString, SafeString]:
        """The rows before the one of that number, and those after it; where it is not on the page, all come before."""
        at = next((at for at, (one, _) in enumerate(self.rows) if one == number), len(self.rows))
        before, after = self.rows[:at], self.rows[at + 1 :]
        return SafeString("".join(row for _, row in before)), SafeString("".join(row for _, row in after))


def _drawn(board: Leaderboard, columns: list[ShownColumn], cursor: str | None, sort: str, decides: str) -> DrawnPage:
    """A page's rows, drawn once for each version of the board; fifty rows take longer to draw than all else of the page."""
    asked = hashlib.sha256(repr((cursor, sort, decides, [column.key for column in columns])).encode()).hexdigest()
    key = f"rows:{RELEASE}:{board.pk}:{board.version}:{details_are_public(board)}:{asked}"
    drawn: DrawnPage | None = caches["pages"].get(key)
    if drawn is None:
        page = board_page(board, cursor=cursor, sort=sort)
        template = get_template("web/_board_row.html")
        same = {
            "columns": columns,
            "decides": decides,
            "detailed": detailed_entries(board, [row.entry for row in page.rows]),
        }
        rows = [(row.entry.pk, template.render(same | {"rank": row.rank, "entry": row.entry})) for row in page.rows]
        drawn = DrawnPage(rows, {row.entry.pk: row.rank for row in page.rows}, page.next_cursor)
        caches["pages"].set(key, drawn)
    return drawn


def _board_context(request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard) -> dict[str, Any]:
    columns = board.visible_columns
    primary = primary_column(list(board.columns.all()))
    sort = request.GET.get("sort", "")
    shown = page_columns(board, columns, has_facts=visited.facts.has_questions)
    if sort and sort not in {column.key for column in shown if column.is_sortable}:
        raise UnknownSort(sort)
    sort = "" if primary is not None and sort == primary.key else sort
    shown, datasets = datasets_page(shown, int(sets) if is_number(sets := request.GET.get("sets", "")) else 1)
    decides = sort or (primary.key if primary is not None else "")
    cursor = request.GET.get("cursor")
    page: BoardPage | DrawnPage = (
        board_page(board, cursor=cursor, sort=sort)
        if board.is_transposed
        else _drawn(board, shown, cursor, sort, decides)
    )
    mine = entry_of(board, visited.facts.team_id) if visited.facts.team_id else None
    undrawn = [row.entry for row in page.rows] if isinstance(page, BoardPage) else []
    return {
        "phase": phase,
        "board": board,
        "boards": boards_shown(visited, phase),
        "columns": shown,
        "primary": primary if primary in columns else None,
        "sort": sort,
        "decides": decides,
        "datasets": datasets,
        "waiting_datasets": [] if page.rows else datasets_named(shown),
        "kept": _kept(phase, board, sort, datasets),
        "commitment": commitment_of(board) if phase.revealed_at is not None else None,
        "rows": page.rows,
        "next_cursor": page.next_cursor,
        "is_first_page": not request.GET.get("cursor"),
        "mine": mine,
        "detailed": detailed_entries(board, [*undrawn, mine] if mine else undrawn),
        "my_rank": _my_rank(board, mine, page, sort) if mine else None,
        **(_own_row(page, mine, sort) if isinstance(page, DrawnPage) else {}),
    }


def _own_row(page: DrawnPage, mine: Entry | None, sort: str) -> dict[str, Any]:
    """The drawn rows with a gap where one's own is, which is drawn for nobody else; in another order it has no rank to show."""
    own = mine.pk if mine and not sort and mine.pk in page.ranks else None
    before, after = page.around(own)
    return {"rows_before": before, "rows_after": after, "is_own_here": own is not None}


def _kept(phase: Phase, board: Leaderboard, sort: str, datasets: DatasetPages | None) -> dict[str, str]:
    """What the links of the page keep of its address, each as the beginning of a query."""
    here = {"phase": phase.slug, "board": board.key}
    sets = {"sets": str(datasets.number)} if datasets else {}
    sorted_by = {"sort": sort} if sort else {}
    return {
        "sets": urlencode(here | sets) if sets else urlencode(here),
        "sort": urlencode(here | sorted_by),
        "both": urlencode(here | sorted_by | sets),
    }


def _my_rank(board: Leaderboard, mine: Entry, page: BoardPage | DrawnPage, sort: str) -> int | None:
    """The rank of one's own row on the board; known already where it stands on the page."""
    if isinstance(page, DrawnPage) and not sort and mine.pk in page.ranks:
        return page.ranks[mine.pk]
    return _rank(board, mine)


def _rank(board: Leaderboard, entry: Entry) -> int | None:
    """The entry's rank, counted once for each version of the board: below 100,000 better rows, counting takes 9 ms."""
    if entry.is_baseline:
        return None
    key = f"rank:{board.pk}:{board.version}:{entry.rank_value!r}:{entry.tie_key}"
    return caches["pages"].get_or_set(key, lambda: rank_of(entry))


@require_safe
def leaderboard_csv(request: HttpRequest, slug: str, phase_slug: str) -> HttpResponseBase:
    visited = visit(request, slug)
    phase = visited.phase(phase_slug)
    board = visited.board(phase, request.GET.get("board"))
    if phase is None or board is None:
        raise Http404
    if not visited.can_see_board(board):
        raise refusal_of(board)
    return csv_response(board)


@require_safe
def history(request: HttpRequest, slug: str) -> HttpResponse:
    """Score over time: the board's best and, for a member, the team's own submissions; a chart and its table."""
    visited = visit(request, slug)
    phase = visited.phase(request.GET.get("phase"))
    board = visited.board(phase, request.GET.get("board"))
    if phase is None or board is None:
        raise Http404
    if not visited.can_see_board(board):  # the board's page says why there is nothing to see
        return redirect(f"{visited.url('leaderboard')}?phase={phase.slug}&board={board.key}")
    primary = deciding_column(list(board.columns.all()))
    if primary is None or primary.is_hidden:
        raise Http404
    best = [(one.received_at, one.score.values[primary.key], one.score.team.name) for one in best_over_time(board)]
    team = team_of_visit(visited)
    scores = team_over_time(board, team) if team else []
    own = [(score.received_at, score.values[primary.key], "") for score in scores]
    context = {
        "phase": phase,
        "board": board,
        "primary": primary,
        "chart": score_chart(best, own, primary, until=_known_until(board, visited.now)),
    }
    return render_tab(request, visited, "history", context)


def _known_until(board: Leaderboard, now: datetime) -> datetime:
    """How far the best score that the board shows is known to hold: to its freeze or its phase's end, at most to now."""
    freeze_at = board.freeze_at if board.phase.revealed_at is None else None
    return min(at for at in (now, board.phase.closes_at, freeze_at) if at is not None)


def _entry(request: HttpRequest, pk: int) -> tuple[Entry, Visit, Leaderboard]:
    """A row of a board with who looks at it. For those who may not see the board there is none: its rows are numbered, and
    another answer would tell how many there are."""
    rows = Entry.objects.select_related("team", "score__submission__phase__competition")
    found: Entry = get_object_or_404(rows, pk=pk)
    submission = found.score.submission
    visited = visit(request, submission.phase.competition.slug)
    phase = next(one for one in visited.phases_with_boards if one.pk == submission.phase_id)
    board = next(one for one in phase.leaderboards.all() if one.pk == found.leaderboard_id)
    if not visited.can_see_board(board):
        raise Http404
    return found, visited, board


@require_safe
def entry(request: HttpRequest, pk: int) -> HttpResponse:
    """One row of a board: its values, what the team says of it in public, and detailed results that are for everybody."""
    found, visited, board = _entry(request, pk)
    submission = found.score.submission
    columns = page_columns(board, board.visible_columns, has_facts=False)
    answers = [
        (question, shown_answer(submission.fact_sheet[question.key]))
        for question in questions_of(board.phase)
        if question.is_public and question.key in submission.fact_sheet
    ]
    values = list(zip(columns, shown_values(columns, found.values), strict=True))
    context = {
        "phase": board.phase,
        "board": board,
        "entry": found,
        "detailed": detailed_runs(found, board),
        "rank": rank_of(found),
        "values": values,
        "answers": answers,
    }
    return render_tab(request, visited, "entry", context)


@csp_exempt()  # type: ignore[arg-type]  # its types know no view with arguments
@require_safe
@xframe_options_sameorigin
def entry_details(request: HttpRequest, pk: int, run_id: UUID) -> HttpResponse:
    """The detailed results of what counts in a row, for whoever sees the board, as far as they are for everybody."""
    found, _, board = _entry(request, pk)
    run = next((one for one in detailed_runs(found, board) if one.pk == run_id), None)
    if run is None:
        raise Http404
    return details_response(run)

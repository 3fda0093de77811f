"""The Leaderboard page: one phase's board, its history, its CSV. Unchanged boards answer 304."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import get_template
from django.utils.safestring import SafeString

from accounts.views import open_page
from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.disclosure.scores import details_are_public, may_know_board
from competitions.disclosure.uncertainty import BoardUncertainty, says_uncertainty
from competitions.leaderboards.models import Entry, RemovedRow
from competitions.leaderboards.ranking.entries import entry_rank
from competitions.leaderboards.ranking.rules import PICKED
from competitions.leaderboards.ranking.values import deciding_column, primary_column
from competitions.leaderboards.reading.board import (
    BoardChanged,
    BoardPage,
    baseline_entries,
    best_over_time,
    board_page,
    page_around,
    search,
    searches_inside,
    team_entry,
    team_over_time,
)
from competitions.leaderboards.reading.columns import (
    DatasetPages,
    ShownColumn,
    dataset_names,
    datasets_page,
    page_columns,
    read_sort,
    without_repeats,
)
from competitions.leaderboards.reading.export import csv_response
from competitions.leaderboards.reading.results import load_boards
from competitions.leaderboards.reading.uncertainty import board_uncertainty, row_uncertainty
from competitions.leaderboards.removed_rows import removed_rows
from competitions.leaderboards.sealing import board_commitment
from competitions.web.conditional import RELEASE, board_etag, unless_unchanged
from competitions.web.details import detailed_entries
from competitions.web.markdown import has_markdown, wants_markdown
from competitions.web.presentation import board_rows
from competitions.web.presentation.charts import Dated, baseline_levels, score_chart
from competitions.web.presentation.costs import cost_columns
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, team_of_visit, visit
from core.design.charts import Level
from files.text import is_number

SHORTEST_SEARCH: Final = 2


@open_page
@has_markdown
def leaderboard(request: HttpRequest, slug: str) -> HttpResponse:
    visited = visit(request, slug)
    phase = visited.board_phase(request.GET.get("phase"))
    board = visited.board(phase, request.GET.get("board"), bare=True)
    if (phase is None and request.GET.get("phase")) or (board is None and request.GET.get("board")):
        raise Http404
    if phase is None or board is None or not visited.can_see_board(board):
        shown: dict[str, object] = {
            "phase": phase,
            "board": board,
            "boards": boards_shown(visited, phase),
            "rows": None,
        }
        shown["commitment"] = board_commitment(board) if board is not None else None
        return render_tab(request, visited, "web/leaderboard/leaderboard.html", shown, tab="leaderboard")
    etag = board_etag(request, visited, board)
    try:
        return unless_unchanged(request, etag, lambda: _render(request, visited, phase, board, etag))
    except BoardChanged:  # the row that a link of the page before names has moved: its first page is the way on
        here = {name: value for name, value in request.GET.items() if name not in ("cursor", "before")}
        return redirect(f"{request.path}?{urlencode(here)}")


def _render(request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard, etag: str) -> HttpResponse:
    """The page of a board; for visitors it is rendered once for each version of the board."""
    same_for_all = (
        not wants_markdown(request)
        and not request.user.is_authenticated
        and set(request.COOKIES) <= {settings.CSRF_COOKIE_NAME}
    )
    if same_for_all and (body := caches["pages"].get(etag)):
        return HttpResponse(body)
    load_boards(visited.phases)
    if wants_markdown(request):
        return render_tab(
            request, visited, "web/leaderboard/leaderboard.html", _rows_context(request, visited, phase, board)
        )
    response = render_tab(
        request,
        visited,
        "web/leaderboard/leaderboard.html",
        _board_context(request, visited, phase, board),
        tab="leaderboard",
    )
    if same_for_all:
        caches["pages"].set(etag, response.content)
    return response


def _rows_context(request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard) -> dict[str, object]:
    """A page of a board's rows in its own order, for programs."""
    page = _page(board, _place(request), "")
    return {
        "phase": phase,
        "board": board,
        "boards": boards_shown(visited, phase),
        "board_columns": board.visible_columns,
        "columns": page_columns(board, board.visible_columns, has_facts=visited.competition.has_questions),
        "rows": page.rows,
        "next_cursor": page.next_cursor,
    }


def boards_shown(visited: Visit, phase: Phase | None) -> list[Leaderboard]:
    """The boards to choose from: a hidden one is not a secret to those who may see it alone."""
    boards = phase.leaderboards.all() if phase else []
    return [board for board in boards if may_know_board(visited.reader, board)]


@dataclass(frozen=True)
class PlaceOnBoard:
    """The part of a board that a page shows: the rows after a cursor, before one, or around a row."""

    cursor: str | None = None
    before: str | None = None
    around: int | None = None

    @property
    def is_first_page(self) -> bool:
        return not (self.cursor or self.before or self.around)


@dataclass(frozen=True)
class DrawnPage:
    """The rows of one page of a board as HTML by entry, the same for everybody who may see it."""

    rows: list[tuple[int, str]]
    ranks: dict[int, int | None]  # by number
    details: dict[int, board_rows.RowDetails]  # so, too
    scale: board_rows.ScoreScale | None
    next_cursor: str | None
    previous_cursor: str | None
    best: list[Dated]  # how the best score improved; on the first page alone
    levels: list[Level]  # of the baselines
    sure: BoardUncertainty | None  # in its own order alone
    removed: list[RemovedRow]  # on the first page alone

    def around(self, number: int | None) -> tuple[SafeString, SafeString]:
        """The rows before and after the one of that number; all come before it if it is not on the page."""
        at = next((at for at, (pk, _) in enumerate(self.rows) if pk == number), len(self.rows))
        before, after = self.rows[:at], self.rows[at + 1 :]
        return SafeString("".join(row for _, row in before)), SafeString("".join(row for _, row in after))


def _page(board: Leaderboard, place: PlaceOnBoard, sort: str) -> BoardPage:
    if place.around is None:
        return board_page(board, cursor=place.cursor, sort=sort, before=place.before)
    return page_around(board, get_object_or_404(Entry, leaderboard=board, pk=place.around))


def _drawn(board: Leaderboard, columns: list[ShownColumn], place: PlaceOnBoard, sort: str, decides: str) -> DrawnPage:
    """A page's rows, drawn once for each version of the board: they take longest to draw."""
    page = hashlib.sha256(
        repr((RELEASE, place, sort, decides, [column.key for column in columns])).encode()
    ).hexdigest()
    key = f"rows:{board.pk}:{board.version}:{details_are_public(board)}:{page}"
    drawn: DrawnPage | None = caches["pages"].get(key)
    if drawn is None:
        drawn = _draw(board, columns, place, sort, decides)
        caches["pages"].set(key, drawn)
    return drawn


def _draw(board: Leaderboard, columns: list[ShownColumn], place: PlaceOnBoard, sort: str, decides: str) -> DrawnPage:
    """Bars, changes and trends are of the ranking: in another order there are none."""
    page = _page(board, place, sort)
    column = None if sort else _drawn_column(board)
    baselines = baseline_entries(board) if column else []
    scale = board_rows.score_scale(board, column, page.rows, baselines)
    details = {} if sort else board_rows.row_details(board, page.rows, scale)
    sure = None if sort else board_uncertainty(board)
    template = get_template("web/leaderboard/_row.html")
    same = {
        "sure": sure,
        "columns": columns,
        "decides": decides,
        "scale": scale,
        "detailed": detailed_entries(board, [row.entry for row in page.rows]),
    }
    rows = [
        (
            row.entry.pk,
            template.render(same | {"rank": row.rank, "entry": row.entry, "more": details.get(row.entry.pk)}),
        )
        for row in page.rows
    ]
    ranks = {row.entry.pk: row.rank for row in page.rows}
    has_best = place.is_first_page and column is not None and not column.is_relative  # one score has no average rank
    best = _best_scores(board, column) if column and has_best else []
    levels = baseline_levels(baselines, column) if column else []
    removed = removed_rows(board) if place.is_first_page else []
    return DrawnPage(rows, ranks, details, scale, page.next_cursor, page.previous_cursor, best, levels, sure, removed)


def _drawn_column(board: Leaderboard) -> Column | None:
    """The deciding column, if bars may show it: not if hidden, nor on boards that grow."""
    primary = primary_column(list(board.columns.all()))
    return primary if primary in board.visible_columns and not board.phase.grows else None


def _lead(page: DrawnPage) -> dict[str, object]:
    """The way of the best score as a small line, with who reached it; its history has the chart."""
    line = (
        board_rows.line_of_best([(at, value) for at, value, _ in page.best], page.scale.column)
        if page.scale is not None
        else None
    )
    return {"lead": line, "leader": page.best[-1][2]} if line is not None else {}


def _best_scores(board: Leaderboard, column: Column) -> list[Dated]:
    return [
        (milestone.received_at, milestone.score.values[column.key], milestone.score.team.name)
        for milestone in best_over_time(board)
    ]


def _place(request: HttpRequest) -> PlaceOnBoard:
    query = request.GET
    around = query.get("around", "")
    if around:
        return PlaceOnBoard(around=int(around) if is_number(around) else 0)
    return PlaceOnBoard(cursor=query.get("cursor") or None, before=query.get("before") or None)


def _board_context(request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard) -> dict[str, object]:
    columns = board.visible_columns
    primary = primary_column(list(board.columns.all()))
    shown = page_columns(board, columns, has_facts=visited.competition.has_questions)
    sort = read_sort(board, shown, request.GET.get("sort", ""))
    shown, datasets = datasets_page(
        without_repeats(shown), int(sets) if is_number(sets := request.GET.get("sets", "")) else 1
    )
    decides = sort or (primary.key if primary is not None else "")
    place = _place(request)
    page: BoardPage | DrawnPage = (
        _page(board, place, sort) if board.is_transposed else _drawn(board, shown, place, sort, decides)
    )
    own_entry = team_entry(board, visited.competing_team_id) if visited.competing_team_id else None
    undrawn = [row.entry for row in page.rows] if isinstance(page, BoardPage) else []
    return {
        "phase": phase,
        "board": board,
        "boards": boards_shown(visited, phase),
        "columns": shown,
        "primary": primary if primary in columns else None,
        "sort": sort,
        "decides": decides,
        "has_costs": primary is not None and bool(cost_columns(shown, primary)),
        "has_leaders": primary is not None and board.rule not in PICKED,
        "datasets": datasets,
        "waiting_datasets": [] if page.rows else dataset_names(shown),
        "kept": _kept(phase, board, sort, datasets),
        "commitment": board_commitment(board) if phase.revealed_at is not None else None,
        "rows": page.rows,
        "next_cursor": page.next_cursor,
        "previous_cursor": page.previous_cursor,
        "is_first_page": place.is_first_page,
        "mine": own_entry,
        "detailed": detailed_entries(board, [*undrawn, own_entry] if own_entry else undrawn),
        "my_rank": _my_rank(board, own_entry, page, sort) if own_entry else None,
        "says_no_uncertainty": isinstance(page, DrawnPage)
        and page.sure is None
        and not sort
        and bool(page.rows)
        and not phase.grows
        and says_uncertainty(board, primary),
        **(_lead(page) if isinstance(page, DrawnPage) else {}),
        **_search(request, board),
        **(_own_row(board, page, own_entry, sort) if isinstance(page, DrawnPage) else {}),
    }


def _search(request: HttpRequest, board: Leaderboard) -> dict[str, object]:
    """The rows of the teams that were looked for."""
    text = request.GET.get("q", "").strip()[:60]
    results = search(board, text) if len(text) >= SHORTEST_SEARCH else []
    return {"searched": text, "found": results, "searches_inside": searches_inside(text)}


def _own_row(board: Leaderboard, page: DrawnPage, own_entry: Entry | None, sort: str) -> dict[str, object]:
    """The drawn rows around one's own, which is drawn apart; in another order it has no rank to show."""
    own = own_entry.pk if own_entry and not sort and own_entry.pk in page.ranks else None
    before, after = page.around(own)
    return {
        "rows_before": before,
        "rows_after": after,
        "is_own_here": own is not None,
        "scale": page.scale,
        "sure": page.sure,
        "removed": page.removed,
        "mine_more": _own_details(board, page, own_entry, sort) if own_entry else None,
    }


def _own_details(board: Leaderboard, page: DrawnPage, own_entry: Entry, sort: str) -> board_rows.RowDetails | None:
    """Details of one's own row; on a page without that row only those that need no query."""
    if own_entry.pk in page.details or sort or page.scale is None:
        return page.details.get(own_entry.pk)
    return board_rows.RowDetails(
        percent=page.scale.percent(own_entry),
        spark=board_rows.score_spark(own_entry, page.scale.column),
        sure=row_uncertainty(board, own_entry),
    )


def _kept(phase: Phase, board: Leaderboard, sort: str, datasets: DatasetPages | None) -> dict[str, str]:
    """The parts of the page's address that its links repeat, each as the start of a query string."""
    here = {"phase": phase.slug, "board": board.key}
    sets = {"sets": str(datasets.number)} if datasets else {}
    sorted_by = {"sort": sort} if sort else {}
    return {
        "sets": urlencode(here | sets) if sets else urlencode(here),
        "sort": urlencode(here | sorted_by),
        "both": urlencode(here | sorted_by | sets),
    }


def _my_rank(board: Leaderboard, own_entry: Entry, page: BoardPage | DrawnPage, sort: str) -> int | None:
    """The rank of one's own row on the board; known already where it stands on the page."""
    if isinstance(page, DrawnPage) and not sort and own_entry.pk in page.ranks:
        return page.ranks[own_entry.pk]
    return _rank(board, own_entry)


def _rank(board: Leaderboard, entry: Entry) -> int | None:
    """The entry's rank, cached by version: counting takes 9 ms with 100,000 better rows."""
    if entry.is_baseline:
        return None
    key = f"rank:{board.pk}:{board.version}:{entry.rank_value!r}:{entry.tie_key}"
    return caches["pages"].get_or_set(key, lambda: entry_rank(entry))


@open_page
def leaderboard_csv(request: HttpRequest, slug: str, phase_slug: str) -> HttpResponseBase:
    visited = visit(request, slug)
    return csv_response(visited.visible_board(phase_slug, request.GET.get("board")))


@open_page
def history(request: HttpRequest, slug: str) -> HttpResponse:
    """Score over time: the board's best and, for members, their team's submissions, with a table."""
    visited = visit(request, slug)
    phase = visited.board_phase(request.GET.get("phase"))
    board = visited.board(phase, request.GET.get("board"))
    if phase is None or board is None:
        raise Http404
    if not visited.can_see_board(board):  # the board's page says why there is nothing to see
        return redirect(f"{visited.url('leaderboard')}?phase={phase.slug}&board={board.key}")
    primary = deciding_column(list(board.columns.all()))
    if primary is None or primary.is_hidden:
        raise Http404
    best = _best_scores(board, primary)
    team = None if visited.facts.is_of_baseline else team_of_visit(visited)
    scores = team_over_time(board, team) if team else []
    own = [(score.received_at, score.values[primary.key], "") for score in scores]
    context = {
        "phase": phase,
        "board": board,
        "primary": primary,
        "is_picked": board.rule in PICKED,
        "chart": score_chart(
            best,
            own,
            primary,
            until=_known_until(board, visited.now),
            levels=baseline_levels(baseline_entries(board), primary),
        ),
    }
    return render_tab(request, visited, "web/leaderboard/history.html", context, tab="leaderboard")


def _known_until(board: Leaderboard, now: datetime) -> datetime:
    """The end of the best score's line: the board's freeze or its phase's end, at the latest now."""
    return min(at for at in (now, board.phase.closes_at, board.frozen_from) if at is not None)

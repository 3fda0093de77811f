"""The page on how sure a board is: intervals, who surely beats whom, and the distribution of scores."""

from dataclasses import dataclass
from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from competitions.catalog.models import Leaderboard
from competitions.disclosure.uncertainty import Pair, RowUncertainty, says_uncertainty
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.board import Row, board_page, entry_rank, team_entry
from competitions.leaderboards.reading.uncertainty import board_uncertainty, comparison, optimism, row_uncertainty
from competitions.web.conditional import board_etag, unless_unchanged
from competitions.web.presentation.charts import distribution_chart
from competitions.web.presentation.intervals import IntervalBar, interval_bars
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit

ROWS: Final = 20  # the best ones


@dataclass(frozen=True)
class ComparedRow:
    """A row with its interval, and its comparisons with the best ones."""

    rank: int | None
    entry: Entry
    sure: RowUncertainty | None
    bar: IntervalBar | None
    pairs: list[Pair]
    optimism: str | None


@login_not_required
@require_safe
def uncertainty(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """Intervals, comparisons and a forecast. Unchanged boards answer 304."""
    visited = visit(request, slug)
    board = visited.visible_board(phase_slug, board_key)
    if not says_uncertainty(board, primary_column(list(board.columns.all()))):
        raise Http404

    def draw() -> HttpResponse:
        return render_tab(
            request, visited, "web/leaderboard/uncertainty.html", _context(visited, board), tab="leaderboard"
        )

    return unless_unchanged(request, board_etag(request, visited, board), draw)


def _context(visited: Visit, board: Leaderboard) -> dict[str, object]:
    column = primary_column(list(board.columns.all()))
    assert column is not None  # asked by the view
    ranked = [row for row in board_page(board).rows if not row.entry.is_baseline][:ROWS]
    own = team_entry(board, visited.facts.team_id) if visited.facts.team_id else None
    is_beyond = own is not None and own.pk not in {row.entry.pk for row in ranked}
    rows = [*ranked, Row(entry_rank(own), own)] if own is not None and is_beyond else ranked
    known = comparison(board)
    numbers, compared = known if known is not None else ([], None)
    has_pairs = compared is not None and numbers == [row.entry.pk for row in ranked]
    certain = [(row.entry, row_uncertainty(board, row.entry)) for row in rows]
    bars = interval_bars(certain, column, scaled_by=len(ranked))
    pairs = compared.pairs if compared is not None and has_pairs else []
    return {
        "phase": board.phase,
        "board": board,
        "primary": column,
        "sure": board_uncertainty(board),
        "rows": [
            ComparedRow(
                row.rank,
                row.entry,
                sure,
                bar,
                pairs[place] if place < len(pairs) else [],
                optimism(visited.reader, board, row.entry),
            )
            for place, (row, (_, sure), bar) in enumerate(zip(rows, certain, bars, strict=True))
        ],
        "says_optimism": visited.is_organizer or board.was_revealed,
        "has_pairs": has_pairs and len(pairs) > 1,
        "own_team": visited.facts.team_id,
        "chart": distribution_chart(compared.bars, column, own) if compared is not None else None,
    }

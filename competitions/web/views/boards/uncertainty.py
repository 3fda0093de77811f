"""The page on how sure a board is: intervals, who surely beats whom, and the distribution of scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse

from accounts.views import open_page
from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.uncertainty import Pair, RowUncertainty, says_uncertainty
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.entries import entry_rank
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.board import Row, board_page, team_entry
from competitions.leaderboards.reading.uncertainty import board_uncertainty, comparison, optimism, row_uncertainty
from competitions.web.conditional import board_etag, unless_unchanged
from competitions.web.presentation.charts import distribution_chart
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit

ROWS: Final = 20  # the best ones


EDGE = 2.0  # percent of the axis that stay free on either side


@dataclass(frozen=True)
class IntervalBar:
    """A row's interval and score on an axis from 0 to 100."""

    low: float
    high: float
    score: float

    @property
    def width(self) -> float:
        return round(self.high - self.low, 2)


def interval_bars(
    rows: Sequence[tuple[Entry, RowUncertainty | None]], column: Column, *, scaled_by: int
) -> list[IntervalBar | None]:
    """A drawing a row on one axis, which the first rows fill, of values rounded as on the board.

    None for a row without an interval, and for one that lies beyond the axis.
    """
    known = [
        None if sure is None else (float(sure.low), float(sure.high), round(entry.values[column.key], column.precision))
        for entry, sure in rows
    ]
    values = [value for each in known[:scaled_by] if each is not None for value in each]
    least, span = min(values, default=0.0), max(values, default=0.0) - min(values, default=0.0)

    def place(value: float) -> float:
        return round(EDGE + (100 - 2 * EDGE) * ((value - least) / span if span else 0.5), 2)

    bars = [None if each is None else IntervalBar(*map(place, each)) for each in known]
    return [bar if bar is not None and bar.low >= 0 and bar.high <= 100 else None for bar in bars]


@dataclass(frozen=True)
class ComparedRow:
    """A row with its interval, and its comparisons with the best ones."""

    rank: int | None
    entry: Entry
    sure: RowUncertainty | None
    bar: IntervalBar | None
    pairs: list[Pair]
    optimism: str | None


@open_page
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
    own = team_entry(board, visited.competing_team_id) if visited.competing_team_id else None
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
        "own_team": visited.competing_team_id,
        "chart": distribution_chart(compared.bars, column, own) if compared is not None else None,
    }

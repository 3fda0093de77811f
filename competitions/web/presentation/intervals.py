"""Intervals of scores as small drawings on one common axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from competitions.catalog.models import Column
from competitions.disclosure.uncertainty import RowUncertainty
from competitions.leaderboards.models import Entry

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

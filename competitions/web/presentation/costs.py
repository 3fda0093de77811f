"""Quality against cost: rows by the score that ranks them and by another of their numbers."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from competitions.catalog.models import Column
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.fact_columns import FactColumn
from competitions.leaderboards.reading.board import Row
from competitions.leaderboards.reading.columns import ShownColumn
from competitions.web.presentation.charts import unit_title
from core.design.charts import Axis, Chart, Point, Series


@dataclass(frozen=True)
class CostRow:
    """A row with its score and its cost as they are shown; `is_best`: no other row is better at both."""

    rank: int | None
    entry: Entry
    score: float
    cost: float
    score_text: str
    cost_text: str
    is_best: bool = False
    share: float = 0.0  # of all rows that are worse, by the viewer's weights


def cost_columns(columns: Sequence[ShownColumn], primary: Column) -> list[Column | FactColumn]:
    """The columns that may be a cost: all with numbers but the one that ranks."""
    return [
        column
        for column in columns
        if isinstance(column, Column | FactColumn) and column.is_sortable and column.key != primary.key
    ]


def cost_rows(rows: Sequence[Row], primary: Column, cost: Column | FactColumn, *, weight: float) -> list[CostRow]:
    """The rows that have both numbers, the best by the viewer's weights first.

    `weight`: from 0, quality alone, to 1, cost alone; of the shares of rows that a row is better than. Numbers are rounded
    as they are shown, so that nothing is told that the board does not.
    """
    known = [
        CostRow(row.rank, row.entry, round(score, primary.precision), value, primary.shown(score), text)
        for row in rows
        if (score := _number(row.entry.values, primary.key)) is not None
        and (value := _cost(row.entry.values, cost)) is not None
        and (text := cost.shown_in(row.entry.values)) is not None
    ]
    sides = [
        [value if column.sorting == Column.Sorting.ASC else -value for value in values]
        for column, values in (
            (primary, [row.score for row in known]),
            (cost, [row.cost for row in known]),
        )
    ]
    best = _undominated(list(zip(*sides, strict=True)))
    shares = zip(*map(_worse_shares, sides), strict=True)
    weighed = [
        replace(row, is_best=place in best, share=(1 - weight) * quality + weight * thrift)
        for place, (row, (quality, thrift)) in enumerate(zip(known, shares, strict=True))
    ]
    return sorted(weighed, key=lambda row: -row.share)


def _number(values: Mapping[str, object], key: str) -> float | None:
    value = values.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) else None


def _cost(values: Mapping[str, object], column: Column | FactColumn) -> float | None:
    value = _number(values, column.key)
    return round(value, column.precision) if value is not None and isinstance(column, Column) else value


def _undominated(points: Sequence[tuple[float, float]]) -> set[int]:
    """The places of points, smaller is better, that no other one equals or beats in both and beats in one."""
    best: set[int] = set()
    least = math.inf
    for place in sorted(range(len(points)), key=lambda place: points[place]):
        quality, cost = points[place]
        if cost < least or any(points[other] == (quality, cost) for other in best):
            best.add(place)
            least = min(least, cost)
    return best


def _worse_shares(values: Sequence[float]) -> list[float]:
    """The share of the other values that are worse than each; smaller is better, equal ones count half."""
    others = max(len(values) - 1, 1)
    ordered = sorted(values)
    return [
        (_count(ordered, value, after=True) + _count(ordered, value, after=False) - 1) / 2 / others for value in values
    ]


def _count(ordered: Sequence[float], value: float, *, after: bool) -> int:
    """The values that are larger, or with `after` off larger or equal."""
    place = bisect_right(ordered, value) if after else bisect_left(ordered, value)
    return len(ordered) - place


def cost_chart(rows: Sequence[CostRow], primary: Column, cost: Column | FactColumn, own: int | None) -> Chart | None:
    """Rows by cost to the right and score upwards; None below two."""
    if len(rows) < 2:
        return None

    def points(chosen: Sequence[CostRow]) -> list[Point]:
        return [
            Point(row.cost, row.score, f"{cost.title} {row.cost_text}", row.score_text, row.entry.team.name)
            for row in chosen
        ]

    best = sorted((row for row in rows if row.is_best), key=lambda row: row.cost)
    others = [row for row in rows if not row.is_best]
    series = [
        Series("Best at their cost", points(best), "line", "good"),
        Series("Others", points(others), "points", "other"),
        Series("Your team", points([row for row in rows if row.entry.team_id == own]), "points", "own"),
    ]
    return Chart(
        key="cost-chart",
        title=f"{primary.title} against {cost.title}",
        summary=f"{len(best)} of {len(rows)} rows are the best at their cost: no other one is better at both.",
        x=Axis(unit_title(cost)),
        y=Axis(unit_title(primary)),
        series=[part for part in series if part.points],
    )

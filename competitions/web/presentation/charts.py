"""Charts: scores over time, ranks before and after a reveal, predictions against each other."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from competitions.catalog.models import Column
from competitions.disclosure.uncertainty import Bar
from competitions.leaderboards.models import Entry, RankChange
from competitions.leaderboards.ranking.fact_columns import FactColumn
from core.design.charts import Axis, Chart, Level, Point, Series, Tone, time_ends, time_point
from files.text import quantity

Dated = tuple[datetime, float, str]  # when, the value in the column's unit, whose


def score_chart(
    best: Sequence[Dated], own: Sequence[Dated], column: Column, *, until: datetime, levels: Sequence[Level] = ()
) -> Chart | None:
    """A chart of a board's best score over time, and of a team's own scores; None without any.

    `until`: the best score is known to hold up to here, where the time axis ends.
    """
    parts = [
        Series("Best of the leaderboard", _dated(best, column), "steps", "best"),
        Series("Your team", _dated(own, column), "points", "own"),
    ]
    series = [part for part in parts if part.points]
    if not series:
        return None
    ends = time_ends([point for part in series for point in part.points], until)
    return Chart(
        key="score-chart",
        title=f"{column.title} over time",
        summary=_score_summary(best, own, column),
        x=Axis("When (UTC)", "time", ends),
        y=Axis(unit_title(column)),
        series=series,
        levels=levels,
    )


def _dated(values: Sequence[Dated], column: Column) -> list[Point]:
    """Rounded as on the board: the page holds the numbers that it draws."""
    return [time_point(at, float(column.shown(value)), column.shown(value), note) for at, value, note in values]


def baseline_levels(baselines: Sequence[Entry], column: Column) -> list[Level]:
    """The scores of baselines, to compare with."""
    known = [(entry.team.name, entry.values[column.key]) for entry in baselines if column.key in entry.values]
    return [Level(name, float(column.shown(value)), column.shown(value)) for name, value in known]


def unit_title(column: Column | FactColumn) -> str:
    """The title of an axis, with the unit if the column has one."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


def _score_summary(best: Sequence[Dated], own: Sequence[Dated], column: Column) -> str:
    """The content of the chart in a sentence."""
    parts = []
    if best:
        (_, first, _), (_, last, team) = best[0], best[-1]
        parts.append(f"The best score went from {column.shown(first)} to {column.shown(last)}, by {team}.")
    if own:
        closest = min(own, key=lambda point: column.rank_value(point[1]))[1]
        parts.append(f"Your team's best of {len(own)} is {column.shown(closest)}.")
    return " ".join(parts)


def own_chart(own: Sequence[Dated], column: Column) -> Chart | None:
    """A team's scores in the order of time; None below two, which have no trend."""
    if len(own) < 2:
        return None
    points = _dated(own, column)
    (_, first, _), (_, last, _) = own[0], own[-1]
    return Chart(
        key="own-chart",
        title=f"Your {column.title} over time",
        summary=f"{len(own)} scores, from {column.shown(first)} to {column.shown(last)}; {column.get_sorting_display()}.",
        x=Axis("When (UTC)", "time", time_ends(points)),
        y=Axis(unit_title(column)),
        series=[Series("", points, "line", "own")],
    )


def improvement_chart(steps: Sequence[tuple[datetime, float]], column: Column, team: str, *, until: datetime) -> Chart:
    """A chart of a team's improvements; there is at least one."""
    points = _dated([(at, value, "") for at, value in steps], column)
    return Chart(
        key="improvements",
        title=f"{column.title} over time",
        summary=f"{team} reached {points[-1].y_text} on {points[-1].x_text}"
        + (f", from {points[0].y_text} at first." if len(points) > 1 else "."),
        x=Axis("When (UTC)", "time", time_ends(points, until)),
        y=Axis(unit_title(column)),
        series=[Series("", points, "steps", "own")],
    )


def rank_chart(changes: Sequence[RankChange], own_team_id: int | None = None) -> Chart | None:
    """A line a team from its rank before the reveal to that after it; None where none had one before."""
    known = [(change, change.rank_before) for change in changes if change.rank_before is not None]
    if not known:
        return None
    last = float(max(max(before, change.rank_after) for change, before in known))
    rose, fell = (sum(sign * (before - change.rank_after) > 0 for change, before in known) for sign in (1, -1))
    return Chart(
        key="rank-chart",
        title="Ranks before and after",
        summary=f"{rose} of these {len(known)} teams rose, {fell} fell.",
        x=Axis("", "category"),
        y=Axis("Rank", "rank", (1.0, last)),
        series=[_slope(change, before, is_own=change.team_id == own_team_id) for change, before in known],
    )


def _slope(change: RankChange, before: int, *, is_own: bool) -> Series:
    """A team's line, of a colour that says if it rose or fell."""
    moved = before - change.rank_after
    tone: Tone = "own" if is_own else "good" if moved > 0 else "bad" if moved < 0 else "other"
    ends = [(0.0, before, "Before"), (1.0, change.rank_after, "After")]
    points = [Point(x, float(rank), when, f"{rank}", change.team.name) for x, rank, when in ends]
    return Series("Your team" if is_own else "", points, "line", tone)


def distribution_chart(bars: Sequence[Bar], column: Column, own: Entry | None) -> Chart | None:
    """The number of rows by score, one's own marked; None without a bar."""
    if not bars:
        return None
    points = [Point(float(place), float(bar.count), bar.low, f"{bar.count}") for place, bar in enumerate(bars)]
    series = [Series("", points, "bars", "other")]
    if own is not None and column.key in own.values:
        value = column.shown(own.values[column.key])
        place = sum(float(bar.high) < float(value) for bar in bars[:-1])
        series.append(Series("Your team", [replace(points[place], note=f"Your team: {value}")], "points", "own"))
    total = sum(bar.count for bar in bars)
    most = max(bars, key=lambda bar: bar.count)
    return Chart(
        key="distribution",
        title="How the scores are distributed",
        summary=f"{quantity(total, 'row')}, most from {most.low} to {most.high}. The outer bars hold all rows beyond.",
        x=Axis(f"{unit_title(column)}, from", "category"),
        y=Axis("Rows"),
        series=series,
    )


def pair_chart(key: str, title: str, pairs: Sequence[Sequence[float]]) -> Chart | None:
    """Expected against made predictions on one scale; None where there is none."""
    if not pairs:
        return None
    values = [value for pair in pairs for value in pair]
    ends = (min(values), max(values))
    points = [
        Point(expected, prediction, f"expected {expected:.6g}", f"made {prediction:.6g}")
        for expected, prediction in pairs
    ]
    return Chart(
        key=key,
        title=title,
        summary=f"{len(pairs)} predictions: expected to the right, made here upwards. On the line: equal.",
        x=Axis("Expected", ends=ends),
        y=Axis("Made here", ends=ends),
        series=[Series("", points, "points", "own")],
        has_diagonal=True,
    )

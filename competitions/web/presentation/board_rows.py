"""Details of a board's row: moves since yesterday, members, a bar and a line of its score."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.uncertainty import RowUncertainty
from competitions.leaderboards.models import Entry
from competitions.leaderboards.reading.board import Row, first_entry
from competitions.leaderboards.reading.daily_ranks import earlier_ranks
from competitions.leaderboards.reading.uncertainty import row_uncertainty
from competitions.teams.models import Membership

LEAST_PERCENT: Final = 2.0  # of a bar, so that none is empty
AXIS_SHARE: Final = 0.9  # of the rows that the axis spans: one hopeless score must not make all others look alike
MEMBERS_SHOWN: Final = 3
SPARK_WIDTH, SPARK_HEIGHT, SPARK_EDGE = 72, 20, 3


@dataclass(frozen=True)
class ScoreScale:
    """The common axis of a page's bars, full at the board's best score, from scores rounded as shown."""

    column: Column
    best: float
    worst: float
    baselines: tuple[tuple[float, str], ...] = ()  # percent, and the text for readers

    def percent(self, entry: Entry) -> float | None:
        """The length of a row's bar; None for a row without the score."""
        value = entry.values.get(self.column.key)
        return None if value is None else self.as_percent(round(value, self.column.precision))

    def as_percent(self, value: float) -> float:
        span = self.best - self.worst
        share = (value - self.worst) / span if span else 1.0
        return round(max(LEAST_PERCENT, min(100.0, 100 * share)), 1)


@dataclass(frozen=True)
class Spark:
    """A small line of a team's best scores, better is higher, as an SVG path, and in words."""

    path: str
    x: float
    y: float
    words: str


class Member(NamedTuple):
    """A member's user name; `is_public`: it leads to their profile."""

    name: str
    is_public: bool


@dataclass(frozen=True)
class RowDetails:
    """All of it for one row."""

    members: tuple[Member, ...] = ()
    more_members: int = 0
    change: int | None = None  # places gained since yesterday; None where there is nothing to compare with
    percent: float | None = None
    spark: Spark | None = None
    sure: RowUncertainty | None = None

    @property
    def fall(self) -> int:
        return -(self.change or 0)


def score_scale(
    board: Leaderboard, column: Column | None, rows: Sequence[Row], baselines: Sequence[Entry]
) -> ScoreScale | None:
    """The axis for bars of these rows; None if the deciding column is hidden or no row has a score."""
    if column is None:
        return None
    on_page = next((row.entry for row in rows if row.rank == 1), None)
    leader = on_page or first_entry(board)
    if leader is None or column.key not in leader.values:
        return None
    values = [round(value, column.precision) for row in rows if (value := row.entry.values.get(column.key)) is not None]
    if not values:
        return None
    ordered = sorted(values, key=column.rank_value)
    best = round(leader.values[column.key], column.precision)
    scale = ScoreScale(column, best, ordered[math.ceil(AXIS_SHARE * (len(ordered) - 1))])
    return ScoreScale(column, scale.best, scale.worst, tuple(_baselines(scale, baselines)))


def _baselines(scale: ScoreScale, entries: Iterable[Entry]) -> Iterable[tuple[float, str]]:
    for entry in entries:
        percent = scale.percent(entry)
        if percent is not None and percent > LEAST_PERCENT:  # else it lies beyond the axis
            yield percent, f"{entry.team.name}: {scale.column.shown(entry.values[scale.column.key])}"


def row_details(board: Leaderboard, rows: Sequence[Row], scale: ScoreScale | None) -> dict[int, RowDetails]:
    """The details of rows by their number, in two queries for any number of rows."""
    teams = [row.entry.team_id for row in rows]
    earlier, members = earlier_ranks(board, teams), _members(teams)
    return {
        row.entry.pk: RowDetails(
            members=tuple(members.get(row.entry.team_id, [])[:MEMBERS_SHOWN]),
            more_members=max(0, len(members.get(row.entry.team_id, [])) - MEMBERS_SHOWN),
            change=earlier[row.entry.team_id] - row.rank if row.rank and row.entry.team_id in earlier else None,
            percent=scale.percent(row.entry) if scale else None,
            spark=score_spark(row.entry, scale.column) if scale else None,
            sure=row_uncertainty(board, row.entry),
        )
        for row in rows
    }


def _members(team_ids: Sequence[int]) -> dict[int, list[Member]]:
    members: dict[int, list[Member]] = {}
    rows = Membership.objects.filter(team__in=team_ids).order_by("joined_at", "pk")
    facts = "team_id", "user__username", "user__profile__is_public", "user__is_active"
    for team, name, is_public, is_active in rows.values_list(*facts):
        members.setdefault(team, []).append(Member(name, bool(is_public and is_active)))
    return members


def improvements(entry: Entry, column: Column) -> list[tuple[datetime, float]]:
    """Improvements of a team's score with their dates, rounded as shown; without those that look the same."""
    steps: list[tuple[datetime, float]] = []
    for at, value in entry.trend:
        shown = round(value, column.precision)
        if not steps or steps[-1][1] != shown:
            steps.append((datetime.fromtimestamp(at, UTC), shown))
    return steps


def score_spark(entry: Entry, column: Column) -> Spark | None:
    """None below two scores, which are no line."""
    return line_of_best(improvements(entry, column), column)


def line_of_best(steps: Sequence[tuple[datetime, float]], column: Column) -> Spark | None:
    """A line through scores that each were better than the one before; None below two.

    It rises and falls with the value, as in the chart of scores over time.
    """
    if len(steps) < 2:
        return None
    (first_at, first), (last_at, last) = steps[0], steps[-1]
    wide, high = SPARK_WIDTH - 2 * SPARK_EDGE, SPARK_HEIGHT - 2 * SPARK_EDGE
    low, height = min(first / 2, last / 2), abs(last / 2 - first / 2)  # halves: a difference may be no number
    span_s = (last_at - first_at).total_seconds() or 1.0
    pixels = [
        (
            round(SPARK_EDGE + wide * (at - first_at).total_seconds() / span_s, 1),
            round(SPARK_HEIGHT - SPARK_EDGE - high * ((value / 2 - low) / height), 1),
        )
        for at, value in steps
    ]
    path = f"M{pixels[0][0]} {pixels[0][1]}" + "".join(f"H{x}V{y}" for x, y in pixels[1:])
    words = (
        f"From {column.shown(first)} to {column.shown(last)} in {len(steps) - 1} step{'s' if len(steps) > 2 else ''}"
    )
    return Spark(path, *pixels[-1], words)

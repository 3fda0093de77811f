"""Boards before and after a proposal: scores, ranks and tiers of teams, and how many of them move."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.db.models import F, Window
from django.db.models.functions import Rank

from competitions.catalog.changes.boards import MOST_RANKED
from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import BoardUncertainty, Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.uncertainty.reading import read_missing
from competitions.leaderboards.uncertainty.refreshing import row_tiers

FIRST: Final = 30  # teams of which rows are kept, by rank before and after
MOVED: Final = 30  # more of them, by how far they move


@dataclass(frozen=True)
class Standing:
    """A team's best row: rank, the deciding column's value as shown, and tier where that is known."""

    rank: int
    score: str
    tier: int | None = None


Standings = Mapping[int, Standing]  # by team


@dataclass(frozen=True)
class Facts:
    """Counts over all teams of a board."""

    teams: int
    moved: int
    gain: int
    lose: int
    come: int
    gone: int
    other_tier: int
    first_before: list[int]
    first_after: list[int]
    has_tiers: bool


def team_standings(board: Leaderboard, *, tiers: Mapping[int, int | None] | None = None) -> Standings:
    """Each team's best row now. `tiers` by row, where those that are stored are of other scores."""
    column = primary_column(list(board.columns.all()))
    ranked = Entry.objects.filter(leaderboard=board, is_baseline=False).annotate(
        rank=Window(Rank(), order_by=[F("rank_value").asc(), F("tie_key").asc()])
    )
    rows = ranked.order_by("rank_value", "tie_key").values_list("pk", "team", "rank", "values", "uncertainty__tier")
    standings: dict[int, Standing] = {}
    for pk, team, rank, values, stored_tier in rows:
        tier = stored_tier if tiers is None else tiers.get(pk)
        standings.setdefault(team, Standing(rank, _shown(column, values), tier))
    return standings


def _shown(column: Column | None, values: Mapping[str, float]) -> str:
    """The deciding value, rounded as on the board; empty where the column is hidden or has none."""
    if column is None or column.is_hidden or column.key not in values:
        return ""
    return column.shown(values[column.key])


def tiers_now(board: Leaderboard, is_wanted: Callable[[], bool]) -> dict[int, int | None]:
    """The tier of each row by the replicates of its score of now; empty without, and on a large board.

    Raises `Stopped`.
    """
    follows = BoardUncertainty.objects.filter(leaderboard=board).exists()
    if not follows or not board.shows_uncertainty or board.entry_count > MOST_RANKED:
        return {}
    read_missing(board, is_wanted=is_wanted)
    return row_tiers(board)


def compare(before: Standings, after: Standings) -> Facts:
    """The numbers of teams that move, come and go."""
    both = before.keys() & after.keys()
    moves = {team: before[team].rank - after[team].rank for team in both}
    tiers = [(before[team].tier, after[team].tier) for team in both]
    has_tiers = any(tier is not None for _, tier in tiers)
    return Facts(
        teams=len(before.keys() | after.keys()),
        moved=sum(move != 0 for move in moves.values()),
        gain=sum(move > 0 for move in moves.values()),
        lose=sum(move < 0 for move in moves.values()),
        come=len(after.keys() - before.keys()),
        gone=len(before.keys() - after.keys()),
        other_tier=sum(old is not None and new is not None and old != new for old, new in tiers),
        first_before=_first(before),
        first_after=_first(after),
        has_tiers=has_tiers,
    )


def _first(standings: Standings) -> list[int]:
    return [team for team, standing in standings.items() if standing.rank == 1][:3]


def shown_rows(before: Standings, after: Standings) -> list[dict[str, Any]]:
    """Rows of the first teams, before and after, and of those that move most, by their new rank."""
    first = {team for each in (before, after) for team, standing in each.items() if standing.rank <= FIRST}
    chosen = first | set(_movers(before, after))
    last = len(before) + len(after)
    order = sorted(chosen, key=lambda team: (after[team].rank if team in after else last, team))
    return [
        {
            "team": team,
            "before": asdict(before[team]) if team in before else None,
            "after": asdict(after[team]) if team in after else None,
        }
        for team in order
    ]


def _movers(before: Standings, after: Standings) -> Sequence[int]:
    moved = [team for team in before.keys() & after.keys() if before[team].rank != after[team].rank]
    return sorted(moved, key=lambda team: -abs(before[team].rank - after[team].rank))[:MOVED]

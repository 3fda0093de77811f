"""How a team came to its best score: the scores of a board that improved on its own, as a row keeps them for small drawings."""

from typing import Final

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Score
from competitions.leaderboards.ranking.rules import PICKED, eligible_scores
from competitions.leaderboards.ranking.values import deciding_column, primary_column
from competitions.teams.models import Team

NEWEST: Final = 200  # scores that are looked at, so that a result costs the same however many came before
MOST: Final = 20  # improvements that are kept

Trend = list[tuple[float, float]]  # seconds since 1970, the deciding column's value


def trend_of(board: Leaderboard, team: Team, columns: list[Column]) -> Trend:
    """A team's improvements, oldest first; empty where its scores alone do not decide, or were not all on the board."""
    deciding = deciding_column(columns)
    if deciding is None or deciding != primary_column(columns) or board.rule in PICKED:
        return []
    newest = eligible_scores(board).filter(team=team).order_by("-received_at", "-pk")[:NEWEST]
    return _improvements(list(reversed(newest)), deciding.key)[-MOST:]


def _improvements(scores: list[Score], key: str) -> Trend:
    best, trend = float("inf"), []
    for score in scores:
        if score.rank_value < best:
            best = score.rank_value
            trend.append((score.received_at.timestamp(), float(score.values[key])))
    return trend

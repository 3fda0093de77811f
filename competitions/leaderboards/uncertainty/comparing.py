"""The best rows of a board against each other, the distribution of all, and what noise does to ranks."""

from typing import Final

import numpy as np
from django.db.models import Max

from competitions.catalog.models import Leaderboard
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.models import BoardComparison, BoardUncertainty
from competitions.leaderboards.ranking.rules import compared_board
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.uncertainty.known import Known, known_rows
from scoring.forecasts import expected_rank_change
from scoring.metrics.metric import Direction
from scoring.standings import Standings

MOST_BARS: Final = 30
OUTSIDE: Final = (0.02, 0.98)  # scores beyond these shares of rows are counted in the outer bars


def compare(board: Leaderboard, ranked: Known, stands: Standings, direction: Direction) -> BoardComparison:
    """The best rows against each other, and all rows by their score."""
    low, high = np.quantile(ranked.scores, OUTSIDE)  # one hopeless score must not make all others look alike
    bars = min(MOST_BARS, max(5, round(len(ranked.scores) ** 0.5)))
    rank_change, by_noise = rank_changes(board, ranked, direction)
    counts, edges = np.histogram(np.clip(ranked.scores, low, high), bars, (low, high))
    return BoardComparison(
        leaderboard=board,
        entries=[ranked.entries[place].pk for place in stands.top],
        beats=np.nan_to_num(stands.beats, nan=0.5).round(4).tolist(),
        surely_beats=stands.surely_beats.tolist(),
        edges=edges.tolist(),
        counts=counts.tolist(),
        rank_change=rank_change,
        rank_change_by_noise=by_noise,
    )


def unseen_items(board: Leaderboard) -> int:
    """The number of items of the sealed board that this one will be compared with; 0 without one."""
    competition = board.phase.competition_id
    boards = Leaderboard.objects.filter(phase__competition=competition, is_hidden=False).select_related("phase")
    sealed = [other.pk for other in boards if not scores_are_public(other) and compared_board(other) == board]
    known = BoardUncertainty.objects.filter(leaderboard__in=sealed).aggregate(items=Max("items"))
    return known["items"] or 0


def rank_changes(board: Leaderboard, ranked: Known, direction: Direction) -> tuple[float | None, float | None]:
    """The mean change of rank at the reveal, and that which noise alone would make."""
    if board.phase.revealed_at is None or (before := compared_board(board)) is None:
        return None, None
    column = primary_column(list(before.columns.all()))
    if column is None:
        return None, None
    other, _, _ = known_rows(before, column)
    rows = {entry.team_id: row for row, entry in enumerate(other.entries)}
    pairs = [(row, rows[entry.team_id]) for row, entry in enumerate(ranked.entries) if entry.team_id in rows]
    if len(pairs) < 2:
        return None, None
    here, there = (np.array(places) for places in zip(*pairs, strict=True))
    change = float(
        np.abs(np.argsort(np.argsort(here)) - np.argsort(np.argsort(there))).mean()
    )  # both in the boards' order
    by_noise = expected_rank_change(
        (other.scores[there], other.replicates[there]),
        (ranked.scores[here], ranked.replicates[here]),
        direction=direction,
    )
    return change, None if np.isnan(by_noise) else by_noise

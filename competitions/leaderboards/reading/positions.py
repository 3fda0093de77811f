"""A score's place on its board, with its distance from the team's best other score and the first row."""

from dataclasses import dataclass

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import visible_columns
from competitions.leaderboards.models import Entry, Score
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.board import first_entry
from competitions.submissions.models import Submission


@dataclass(frozen=True)
class ScorePosition:
    """Differences with their sign, written as the board writes scores; empty with nothing to compare."""

    column: Column
    value: str
    place: int | None  # None where it takes no rank: late, or a baseline's
    counts: bool  # this score is the row; else `place` is where it would stand
    to_own_best: str
    is_own_best: bool
    to_leader: str


def score_position(submission: Submission, reader: Reader) -> ScorePosition | None:
    """On the first board of its phase whose deciding column this reader sees; a few counts on indexes."""
    scores = {score.leaderboard_id: score for score in submission.scores.select_related("entry", "team")}
    for board in submission.phase.leaderboards.all():
        primary = primary_column(list(board.columns.all()))
        score = scores.get(board.pk)
        is_seen = primary in visible_columns(reader, board)
        if (
            score is not None
            and primary is not None
            and is_seen
            and not primary.is_relative
            and primary.key in score.values
        ):
            return _position(board, primary, score)
    return None


def _position(board: Leaderboard, column: Column, score: Score) -> ScorePosition:
    others = Score.objects.filter(leaderboard=board, team=score.team_id, is_eligible=True).exclude(pk=score.pk)
    best_other, leader = others.order_by("rank_value").first(), first_entry(board)
    is_first = leader is not None and leader.score_id == score.pk
    return ScorePosition(
        column=column,
        value=column.shown(score.values[column.key]),
        place=_place(board, score),
        counts=hasattr(score, "entry"),
        to_own_best=_difference(column, score, best_other),
        is_own_best=best_other is not None and score.rank_value < best_other.rank_value,
        to_leader="" if is_first or leader is None else _difference(column, score, leader),
    )


def _place(board: Leaderboard, score: Score) -> int | None:
    """One more than the number of other teams' better rows."""
    if score.team.is_baseline or not score.is_eligible:
        return None
    rows = Entry.objects.filter(leaderboard=board, is_baseline=False, rank_value__lt=score.rank_value)
    own = rows.filter(team=score.team_id).count()
    return rows.count() - own + 1


def _difference(column: Column, score: Score, other: Score | Entry | None) -> str:
    if other is None or column.key not in other.values:
        return ""
    return column.difference(score.values[column.key], other.values[column.key])

"""A submission's results on the boards of its phase, as far as its reader may know them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_see_board, may_see_that_it_counts, visible_columns
from competitions.leaderboards.models import Entry, Score
from competitions.leaderboards.ranking.rules import PICKED, REMOVABLE, Rule
from competitions.leaderboards.ranking.values import deciding_column, primary_column
from competitions.leaderboards.reading.board import first_entry
from competitions.leaderboards.reading.submission_scores import ScoredSubmission
from competitions.submissions.models import Submission


@dataclass(frozen=True)
class Choice:
    """A board on which the team chooses what counts."""

    board: Leaderboard
    is_picked: bool

    @property
    def is_selection(self) -> bool:
        return self.board.rule == Rule.SELECTED

    @property
    def is_removable(self) -> bool:
        return self.board.rule in REMOVABLE


@dataclass
class BoardResults:
    """Values that the reader may see, by board; `withholds_scores` says that there are others.

    `to_best`: signed distance to the team's best score, by key of the board's deciding column. `counting`: the boards
    it counts on now, of `boards`, which are all of its phase.
    """

    boards: Sequence[Leaderboard]
    values: list[tuple[Column, str]] = field(default_factory=list)
    exact: dict[str, tuple[Column, float]] = field(default_factory=dict)
    to_best: dict[str, str] = field(default_factory=dict)
    withholds_scores: bool = False
    counting: list[Leaderboard] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)


def known_results(scored: ScoredSubmission, reader: Reader) -> BoardResults:
    """A submission's results, as far as this reader may know them.

    Of a hidden board, whoever does not see it is told nothing, not even that there is more.
    """
    results = BoardResults(scored.boards)
    for board in results.boards:
        if board.is_hidden and not may_see_board(reader, board):
            continue
        if board.rule in PICKED and scored.submission.may_rank:
            results.choices.append(Choice(board, board.pk in scored.picked))
        score = scored.scores.get(board.pk)
        if score is None:
            continue
        deciding = deciding_column(list(board.columns.all()))
        for column in visible_columns(reader, board):
            if column.key in score.values:
                results.values.append((column, column.shown_in(score.values) or ""))
                results.exact[column.key] = column, score.values[column.key]
                if column == deciding and score.best is not None and not score.is_best and column.key in score.best:
                    results.to_best[column.key] = column.difference(score.values[column.key], score.best[column.key])
        results.withholds_scores |= not may_see_board(reader, board)
        if score.entry_id is not None and may_see_that_it_counts(reader, board):
            results.counting.append(board)
    return results


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

"""How one submission stands on the boards of its phase, as far as somebody may see it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.ranking.rules import PICKED, REMOVABLE, TELLS_NO_SCORE, Rule
from competitions.leaderboards.reading.submission_scores import ScoredSubmission


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
class Standing:
    """`values` are those that may be seen; `sealed` says that there are others. `counting`: boards it counts on now,
    of `boards`, which are all of its phase."""

    boards: Sequence[Leaderboard]
    values: list[tuple[Column, str]] = field(default_factory=list)
    exact: dict[str, tuple[Column, float]] = field(default_factory=dict)
    sealed: bool = False
    counting: list[Leaderboard] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)


def standing_of(scored: ScoredSubmission, sees: Callable[[Leaderboard], bool]) -> Standing:
    """The submission's standing for somebody who `sees` these boards.

    Of a hidden board, whoever does not see it is told nothing, not even that there is more.
    """
    standing = Standing(scored.boards)
    for board in standing.boards:
        score = scored.scores.get(board.pk)
        if board.is_hidden and not sees(board):
            continue
        if board.rule in PICKED and scored.submission.may_rank:
            standing.choices.append(Choice(board, board.pk in scored.picked))
        if score is None:
            continue
        is_seen = sees(board)
        if is_seen:
            shown = values_of(board, score.values)
            standing.values += shown
            standing.exact |= {column.key: (column, score.values[column.key]) for column, _ in shown}
        else:
            standing.sealed = True
        if score.entry_id is not None and (is_seen or board.rule in TELLS_NO_SCORE):
            standing.counting.append(board)
    return standing


def values_of(board: Leaderboard, values: dict[str, float]) -> list[tuple[Column, str]]:
    """The values of a score as the board shows them."""
    columns = [column for column in board.visible_columns if column.key in values]
    return [(column, column.shown_in(values) or "") for column in columns]

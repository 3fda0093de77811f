"""A submission's results on the boards of its phase, as far as its reader may know them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_see_board, may_see_that_it_counts, visible_columns
from competitions.leaderboards.ranking.rules import PICKED, REMOVABLE, Rule
from competitions.leaderboards.ranking.values import deciding_column
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

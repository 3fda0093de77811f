"""The uncertainty of a board for those who see it: rounded summaries of what nobody sees."""

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Final, Protocol

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_see_scores
from scoring.forecasts import best_of_tries

SUREST: Final = 99  # percent; no number of resamples makes a chance of 0 or 1 sure


class RowFacts(Protocol):
    """Facts computed of a row; none of them leaves the site as it is."""

    low: float
    high: float
    first_rank: int | None
    last_rank: int | None
    tier: int | None
    beats_above: float | None
    stays_top: float | None


class BoardFacts(Protocol):
    """Facts computed of a board."""

    resamples: int
    rows_known: int
    rows_unknown: int
    first_tier: int
    resolution: float | None
    items: int
    unseen_items: int
    top: int
    foreseen_resolution: float | None


class ComparisonFacts(Protocol):
    """Facts computed of the best rows of a board, and of all."""

    beats: list[list[float]]
    surely_beats: list[list[bool]]
    edges: list[float]
    counts: list[int]
    rank_change: float | None
    rank_change_by_noise: float | None


@dataclass(frozen=True)
class RowUncertainty:
    """The uncertainty of a row, with the digits of its column. Rows that are not compared are in no tier."""

    half_width: str
    low: str
    high: str
    first_rank: int | None
    last_rank: int | None
    tier: int | None
    beats_above_percent: int | None
    stays_top_percent: int | None

    @property
    def has_one_rank(self) -> bool:
        """True where the data allow a single rank."""
        return self.first_rank == self.last_rank

    @property
    def rank_range(self) -> str:
        """The ranks that the data allow; empty for a single one, and where none is known."""
        return "" if self.has_one_rank else f"{self.first_rank}\N{EN DASH}{self.last_rank}"

    def as_json(self) -> dict[str, object]:
        """The values as the API gives them."""
        return asdict(self)


@dataclass(frozen=True)
class BoardUncertainty:
    """The uncertainty of a whole board: rows in the first tier, and the smallest sure difference."""

    confidence_percent: int
    resamples: int
    rows_known: int
    rows_unknown: int
    first_tier: int
    resolution: str | None
    top: int | None
    unseen_items: int | None

    def as_json(self) -> dict[str, object]:
        """The values as the API gives them."""
        return asdict(self)


@dataclass(frozen=True)
class Pair:
    """The chance of one row to score better than another, and if it surely is better, or worse."""

    percent: int
    is_sure: bool
    is_surely_not: bool


@dataclass(frozen=True)
class Bar:
    """Rows with a score from `low` to `high`."""

    low: str
    high: str
    count: int


@dataclass(frozen=True)
class Comparison:
    """The best rows against each other, how many rows have which score, and changes of rank.

    `rank_changes`: the mean change at the reveal, as they were, and as noise alone would make them.
    """

    pairs: list[list[Pair]]
    bars: list[Bar]
    rank_changes: tuple[str, str] | None


@dataclass(frozen=True)
class Foreseen:
    """The differences that a test set and its hidden part can tell apart, for organizers.

    Twice as fine takes four times the items.
    """

    items: int
    difference: str
    unseen_items: int
    unseen_difference: str

    @property
    def items_for_half(self) -> int:
        """The number of items that would tell half the difference apart."""
        return 4 * self.items


def says_uncertainty(board: Leaderboard, column: Column | None) -> bool:
    """True where those who see the board may be told how sure its ranking by this column is."""
    is_shown = column is not None and not column.is_hidden and not column.is_relative
    return board.shows_uncertainty and is_shown and not board.phase.grows


def row_uncertainty(board: Leaderboard, column: Column, facts: RowFacts) -> RowUncertainty | None:
    """The uncertainty of a row of a board that the reader may see is, as its digits show it."""
    if not says_uncertainty(board, column):
        return None
    return RowUncertainty(
        half_width=column.shown((facts.high - facts.low) / 2),
        low=column.shown(facts.low),
        high=column.shown(facts.high),
        first_rank=facts.first_rank,
        last_rank=facts.last_rank,
        tier=facts.tier,
        beats_above_percent=None if facts.beats_above is None else _percent(facts.beats_above),
        stays_top_percent=None if facts.stays_top is None or _is_final(board) else _percent(facts.stays_top),
    )


def board_uncertainty(board: Leaderboard, column: Column, facts: BoardFacts) -> BoardUncertainty | None:
    """The uncertainty of a board that the reader may see is; None where nothing is known of its rows."""
    if not says_uncertainty(board, column) or not facts.rows_known:
        return None
    return BoardUncertainty(
        confidence_percent=board.confidence_percent,
        resamples=facts.resamples,
        rows_known=facts.rows_known,
        rows_unknown=facts.rows_unknown,
        first_tier=facts.first_tier,
        resolution=None if facts.resolution is None else column.shown(facts.resolution),
        top=facts.top if facts.top and not _is_final(board) else None,
        unseen_items=facts.unseen_items or None,
    )


def comparison(board: Leaderboard, column: Column, facts: ComparisonFacts) -> Comparison | None:
    """The best rows of a board that the reader may see is, against each other."""
    if not says_uncertainty(board, column):
        return None
    ends = [column.shown(edge) for edge in facts.edges]
    changes = facts.rank_change, facts.rank_change_by_noise
    return Comparison(
        pairs=[
            [Pair(_percent(share), *both) for share, *both in zip(shares, sure, sure_of_others, strict=True)]
            for shares, sure, sure_of_others in zip(
                facts.beats, facts.surely_beats, zip(*facts.surely_beats, strict=True), strict=True
            )
        ],
        bars=[Bar(*bar) for bar in zip(ends[:-1], ends[1:], facts.counts, strict=True)],
        rank_changes=None if None in changes else (f"{facts.rank_change:.1f}", f"{facts.rank_change_by_noise:.1f}"),
    )


def _is_final(board: Leaderboard) -> bool:
    """True once the scores on unseen items are known, so that nothing is foreseen of them."""
    return board.phase.revealed_at is not None


def optimism(reader: Reader, board: Leaderboard, column: Column, facts: BoardFacts, tries: int) -> str | None:
    """The luck in the best of a team's tries, were they all equally good.

    Organizers read it at once, all others after the reveal. The errors of two tries are taken to be as far apart as those
    of neighbours at the top, from which the resolution is.
    """
    if facts.resolution is None or tries < 2 or not (_is_final(board) or reader.organizes(board.phase)):
        return None
    error = facts.resolution / NormalDist().inv_cdf((1 + board.confidence_percent / 100) / 2) / math.sqrt(2)
    return column.shown(error * best_of_tries(tries))


def foreseen(reader: Reader, board: Leaderboard, facts: BoardFacts) -> Foreseen | None:
    """The differences that the test set tells apart; None for who may not see the board's scores."""
    difference = facts.foreseen_resolution
    if difference is None or not facts.items or not may_see_remark(reader, board):
        return None
    unseen = difference * math.sqrt(facts.items / facts.unseen_items) if facts.unseen_items else 0.0
    return Foreseen(facts.items, _rough(difference), facts.unseen_items, _rough(unseen))


def _rough(value: float) -> str:
    """Two digits: more would promise too much."""
    return f"{float(f'{value:.2g}'):,.12g}"


def may_see_remark(reader: Reader, board: Leaderboard) -> bool:
    """True for organizers who may see the board's scores: why rows have no interval may quote them."""
    return reader.organizes(board.phase) and may_see_scores(reader, board)


def _percent(share: float) -> int:
    """A share in whole percent; the lowest stands for all below it, the highest for all above it."""
    percent = 100 * share
    if percent > SUREST:
        return SUREST
    return min(max(round(percent), 101 - SUREST), SUREST - 1) if percent >= 100 - SUREST else 100 - SUREST


def shown_chance(percent: int) -> str:
    """A chance as people read it.

    >>> [shown_chance(percent) for percent in (1, 2, 98, 99)]
    ['< 1', '2', '98', '> 99']
    """
    if percent >= SUREST:
        return f"> {SUREST}"
    return str(percent) if percent > 100 - SUREST else f"< {100 - SUREST}"

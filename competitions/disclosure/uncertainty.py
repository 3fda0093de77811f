"""How sure a board is, for those who see it: rounded summaries of replicates, which themselves are seen by nobody."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_see_scores

SUREST: Final = 99  # percent; no number of resamples makes a chance of 0 or 1 sure


class RowFacts(Protocol):
    """What is computed of a row; none of it leaves the site as it is."""

    low: float
    high: float
    first_rank: int | None
    last_rank: int | None
    tier: int | None
    beats_above: float | None


class BoardFacts(Protocol):
    """What is computed of a board."""

    resamples: int
    rows_known: int
    rows_unknown: int
    first_tier: int
    resolution: float | None


@dataclass(frozen=True)
class RowUncertainty:
    """How sure a row is, with the digits of its column. A baseline takes no rank and is in no tier."""

    half_width: str
    low: str
    high: str
    first_rank: int | None
    last_rank: int | None
    tier: int | None
    beats_above_percent: int | None

    @property
    def has_one_rank(self) -> bool:
        """True where the data allow a single rank."""
        return self.first_rank == self.last_rank

    def as_json(self) -> dict[str, Any]:
        """The values as the API gives them."""
        return asdict(self)


@dataclass(frozen=True)
class BoardUncertainty:
    """How sure a whole board is: how many rows share the first tier, and the smallest difference that is told apart."""

    confidence_percent: int
    resamples: int
    rows_known: int
    rows_unknown: int
    first_tier: int
    resolution: str | None

    def as_json(self) -> dict[str, Any]:
        """The values as the API gives them."""
        return asdict(self)


def says_uncertainty(board: Leaderboard, column: Column | None) -> bool:
    """True where those who see the board may be told how sure its ranking by this column is."""
    is_shown = column is not None and not column.is_hidden and not column.is_relative
    return board.shows_uncertainty and is_shown and not board.phase.grows


def row_uncertainty(board: Leaderboard, column: Column, found: RowFacts) -> RowUncertainty | None:
    """How sure a row of a board that the reader may see is, as its digits show it."""
    if not says_uncertainty(board, column):
        return None
    return RowUncertainty(
        half_width=column.shown((found.high - found.low) / 2),
        low=column.shown(found.low),
        high=column.shown(found.high),
        first_rank=found.first_rank,
        last_rank=found.last_rank,
        tier=found.tier,
        beats_above_percent=None if found.beats_above is None else _percent(found.beats_above),
    )


def board_uncertainty(board: Leaderboard, column: Column, found: BoardFacts) -> BoardUncertainty | None:
    """How sure a board that the reader may see is; None where nothing is known of its rows."""
    if not says_uncertainty(board, column) or not found.rows_known:
        return None
    return BoardUncertainty(
        confidence_percent=board.confidence_percent,
        resamples=found.resamples,
        rows_known=found.rows_known,
        rows_unknown=found.rows_unknown,
        first_tier=found.first_tier,
        resolution=None if found.resolution is None else column.shown(found.resolution),
    )


def may_see_remark(reader: Reader, board: Leaderboard) -> bool:
    """True for organizers who may see the board's scores: why rows have no interval may quote them."""
    return reader.organizes(board.phase) and may_see_scores(reader, board)


def _percent(share: float) -> int:
    return min(max(round(100 * share), 100 - SUREST), SUREST)

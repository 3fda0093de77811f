"""What tells rows apart that have the same value in the primary column, on boards that let no two share a rank."""

import struct
from collections.abc import Sequence
from typing import Final

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Score
from competitions.leaderboards.ranking.values import further_columns

MAX_COLUMNS: Final = 40  # an index takes rows of some 2,700 bytes
DIGITS: Final = 16
BEHIND_ALL: Final = "f" * DIGITS


def tie_key(board: Leaderboard, columns: Sequence[Column], score: Score) -> str:
    """The row's `further_columns`, then when it was sent in, as a text that sorts as they do.

    Empty where the board lets equal rows share a rank.
    """
    if not board.breaks_ties:
        return ""
    values = [_part(column, score) for column in further_columns(columns)[:MAX_COLUMNS]]
    return "".join([*values, ordered_hex(score.received_at.timestamp()), f"{score.submission_id:0{DIGITS}x}"])


def _part(column: Column, score: Score) -> str:
    return ordered_hex(column.rank_value(score.values[column.key])) if column.key in score.values else BEHIND_ALL


def ordered_hex(number: float) -> str:
    """Sixteen hexadecimal digits that sort as numbers do.

    >>> sorted([3.5, -1.0, 0.0, -2.5], key=ordered_hex)
    [-2.5, -1.0, 0.0, 3.5]
    """
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))  # -0.0 becomes 0.0
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):0{DIGITS}x}"

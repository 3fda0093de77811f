"""Where rows stand in a file, in the words of refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import polars as pl

from scoring.tables.file_types import join_values

SHOWN: Final = 5
"""Ids or places that a sentence names."""
_SHOWN_OF_ONE: Final = 3
Place: TypeAlias = Callable[[int], str]
"""Where row N (from 0) stands, for a person, such as ``line 2``."""


def row_number(row: int) -> str:
    """The place of a row of which nothing but its number is known.

    >>> row_number(0)
    'row 1'
    """
    return f"row {row + 1:,}"


def name_repeats(values: pl.Series, place: Place = row_number) -> str:
    """The first values that are there more than once, each with its first places; empty where there is none.

    >>> name_repeats(pl.Series([7, 8, 7]))
    '7 is in row 1, row 3'
    """
    again = values.is_not_null() & ~values.is_first_distinct()
    repeated = values.filter(again).unique(maintain_order=True)
    named = [f"{ascii(value)[:80]} is in {_first_places(values == value, place)}" for value in repeated.head(SHOWN)]
    more = f"; and {len(repeated) - SHOWN:,} more are repeated" if len(repeated) > SHOWN else ""
    return "; ".join(named) + more


def _first_places(chosen: pl.Series, place: Place) -> str:
    rows = chosen.arg_true()
    return join_values([place(row) for row in rows.head(_SHOWN_OF_ONE)], total=len(rows), show=_SHOWN_OF_ONE)

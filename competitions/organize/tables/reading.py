"""Recognising a table: its columns, their types, and how their values are distributed."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from competitions.organize.answers import Solution
from files.text import is_storable
from scoring.tables.reading.files import open_table, read_source, require_rows
from scoring.tables.recognise import preview_table, require_plain_numbers
from scoring.tables.splitting import read_instants
from workers.protocol.texts import printable

BARS: Final = 12
MAX_SHAPES: Final = 60
SHARES: Final = 100


def recognise_table(path: str, file_name: str) -> dict[str, Solution]:
    """Recognise the table and the distribution of its columns. Raises `ScoringInputError`."""
    with open_table(Path(path), filename=file_name) as source:
        table = read_source(source)
        require_rows(table)
        require_plain_numbers(table, source)
        preview = preview_table(table, source)
    shapes = {column.name: _bars(table[column.name]) for column in preview.columns[:MAX_SHAPES]}
    instants = {column.name: _quantiles(table[column.name]) for column in preview.columns[:MAX_SHAPES]}
    dated = {name: quantiles for name, quantiles in instants.items() if quantiles}
    return {"preview": _storable(preview.as_json() | {"shapes": shapes, "instants": dated})}


def _quantiles(column: pl.Series) -> list[str]:
    """Of a column of dates, instants between which equal shares of the rows are; empty for another column."""
    instants = read_instants(column)
    if instants is None or instants.n_unique() < 2:
        return []
    ordered = instants.sort()
    places = [round(share * (len(ordered) - 1) / SHARES) for share in range(SHARES + 1)]
    return [ordered[place].isoformat() for place in places]


def _storable(value: Any) -> Any:
    """The same with texts that a database takes."""
    if isinstance(value, str):
        return value if is_storable(value) else printable(value)
    if isinstance(value, dict):
        return {name: _storable(held) for name, held in value.items()}
    return [_storable(held) for held in value] if isinstance(value, (list, tuple)) else value


def _bars(column: Any) -> list[tuple[str, int]]:
    """Counts of each value, the most frequent first; of many numbers, counts in equal ranges."""
    values = column.drop_nulls()
    if values.dtype.is_numeric() and values.n_unique() > BARS:
        return _ranges(values.to_numpy().astype(np.float64))
    frequencies = values.value_counts(sort=True).head(BARS).rows()
    return [(str(value)[:60], int(count)) for value, count in frequencies]


def _ranges(numbers: NDArray[np.float64]) -> list[tuple[str, int]]:
    """Counts of the finite numbers in equal ranges; empty if they are too close or too far apart."""
    try:
        with np.errstate(all="ignore"):
            counts, edges = np.histogram(numbers[np.isfinite(numbers)], bins=BARS)
    except ValueError:
        return []
    return [
        (f"{low:.4g} to {high:.4g}", int(count)) for count, low, high in zip(counts, edges, edges[1:], strict=False)
    ]

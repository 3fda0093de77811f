"""A first reading of an uploaded table: its columns, and which are id and target."""

import math
import re
from pathlib import Path
from typing import Any, Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.previews import (
    MAX_CLASSES,
    SHOWN_CHARACTERS,
    SHOWN_CLASSES,
    SHOWN_COLUMNS,
    ColumnPreview,
    Kind,
    Pattern,
    Recognised,
    TablePreview,
)
from scoring.tables.reading.delimited import first_grouped, plain_number
from scoring.tables.reading.files import Source, name_repeats, open_table, read_source
from scoring.tables.splitting import usage_column

FIRST_ROWS: Final = 10
_EXAMPLES: Final = 5
_RUN_LENGTHS: Final = re.compile(r"(-1|\d+ \d+( \d+ \d+)*)?")
_BOXES: Final = re.compile(r"(\S+( -?[\d.]+){4})( \S+( -?[\d.]+){4})*")
_ID_NAMES: Final = ("id", "row_id", "item_id", "index")


def recognise(path: Path) -> TablePreview:
    """Read the table and propose what its columns are.

    Raises `ScoringInputError` as `scoring.tables.reading.files.read_table`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "solution.csv"
    ...     _ = path.write_text("id,price,Usage\\n1,2.5,Public\\n2,3.5,Private\\n")
    ...     found = recognise(path)
    >>> found.id_column, found.targets, found.usage_column
    ('id', ('price',), 'Usage')
    """
    with open_table(path) as source:
        return preview_table(read_source(source), source)


def preview_table(table: pl.DataFrame, source: Source) -> TablePreview:
    """Like `recognise`, for a table that was read already.

    >>> preview_table(pl.DataFrame({"id": [1, 2], "price": [2.5, 3.5]}), Source(Path("s.csv"), "csv")).targets
    ('price',)
    """
    columns = tuple(_preview(column, source, is_shown=place < SHOWN_COLUMNS) for place, column in enumerate(table))
    usage = usage_column(table)
    identity = _id_column(columns, table.height)
    rest = tuple(
        column.name for column in columns if column.name not in (identity, usage) and column.kind != "constant"
    )
    return TablePreview(source.format, table.height, columns, _first_rows(table), identity, rest, usage)


def _first_rows(table: pl.DataFrame) -> tuple[tuple[str, ...], ...]:
    first = table.select(table.columns[:SHOWN_COLUMNS]).head(FIRST_ROWS)
    texts = first.select(pl.all().cast(pl.String).fill_null("")).rows()
    return tuple(tuple(map(_cut, row)) for row in texts)


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _preview(column: pl.Series, source: Source, *, is_shown: bool) -> ColumnPreview:
    values = column.drop_nulls()
    distinct = values.n_unique()
    numbers = values.dtype.is_numeric()
    examples = [str(value) for value in values.head(_EXAMPLES)]
    classes = sorted(values.unique().to_list()) if is_shown and distinct <= SHOWN_CLASSES else []
    low, high = (_finite(values.min()), _finite(values.max())) if numbers else (None, None)
    return ColumnPreview(
        column.name,
        _type(column),
        _kind(values, distinct),
        distinct,
        column.null_count(),
        tuple(map(_cut, examples)) if is_shown else (),
        low,
        high,
        tuple(map(_cut, classes)),
        _pattern(examples),
        name_repeats(column, source.place) if is_shown and distinct * 2 > len(values) else "",
    )


def require_plain_numbers(table: pl.DataFrame, source: Source) -> None:
    """Refuse a column of numbers with separators between thousands: it would be taken for a text.

    >>> require_plain_numbers(pl.DataFrame({"price": ["1,250.5"]}), Source(Path("s.csv"), "csv"))
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: 'price': '1,250.5' in line 2 has a separator between thousands; write 1250.5.
    """
    for column in table:
        if (row := first_grouped(column)) is not None:
            what = f"{column[row]!a} in {source.place(row)} has a separator between thousands"
            raise ScoringInputError("wrong_type", ascii(column.name), what, f"write {plain_number(column[row])}")


def _finite(bound: Any) -> float | None:
    """The bound of a column, None where there is none: JSON has no word for infinity."""
    return float(bound) if bound is not None and math.isfinite(bound) else None


def _type(column: pl.Series) -> Recognised:
    if column.dtype.is_integer():
        return "integer"
    return "number" if column.dtype.is_numeric() else "text"


def _kind(values: pl.Series, distinct: int) -> Kind:
    """The likeliest kind of target of such values."""
    if distinct < 2:
        return "constant"
    if distinct == 2:
        return "binary"
    whole = values.dtype.is_integer()
    if values.dtype.is_float():
        return "number"
    if distinct == len(values) and len(values) > MAX_CLASSES // 10:
        return "unique"
    if distinct <= MAX_CLASSES and distinct * 5 <= len(values):
        return "class"
    return ("count" if int(values.min()) >= 0 else "number") if whole else "text"  # type: ignore[arg-type]  # whole numbers


def _pattern(examples: list[str]) -> Pattern:
    """The pattern of the whole values: masks or boxes written as text."""
    if examples and all(_RUN_LENGTHS.fullmatch(example) for example in examples):
        return "run lengths"
    return "boxes" if examples and all(_BOXES.fullmatch(example) for example in examples) else ""


def _id_column(columns: tuple[ColumnPreview, ...], rows: int) -> str | None:
    """A column without gaps and repeats: by its name, else the first one that is text or whole numbers."""
    able = [column for column in columns if column.distinct == rows and not column.missing and column.type != "number"]
    named = [
        column for column in able if column.name.lower() in _ID_NAMES or column.name.lower().endswith(("_id", "id"))
    ]
    return next((column.name for column in (*named, *able)), None)

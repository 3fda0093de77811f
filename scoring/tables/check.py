"""Is a team's table what the schema says? Asked before the upload, by the site, and again before it is scored.

Numbers are read as such at once; only a file in which that fails is read a second time as text, to name the cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.align import Places, find_places, normalize_ids, reorder
from scoring.tables.file_types import join_values, printable
from scoring.tables.files import LIMIT_BYTES, Source, open_table, read_source
from scoring.tables.schema import Column, TableSchema

_SHOWN: Final = 5
_TYPES: Final = {"number": pl.Float64(), "integer": pl.Int64(), "text": pl.String()}


@dataclass(frozen=True)
class Report:
    """What a right table holds, and what about it is legal but looks like an accident."""

    format: str
    rows: int
    columns: tuple[str, ...]
    size_bytes: int
    warnings: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def check(
    path: Path,
    schema: TableSchema,
    ids: pl.Series | None = None,
    *,
    filename: str | None = None,
    limit_bytes: int = LIMIT_BYTES,
) -> Report:
    """A report on a right table.

    Parameters
    ----------
    ids : the ids that are asked for (`scoring.tables.align.ids_of` of the sample submission); without them only repeats
        and the number of rows are looked at
    filename : the name that its owner gave the file

    Raises
    ------
    ScoringInputError
        What is wrong, with the first five ids or lines.

    >>> import tempfile
    >>> from scoring.tables.files import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(pl.DataFrame({"id": [1, 2], "price": [0.5, 2.0]}), Path(folder) / "p.csv")
    ...     check(path, TableSchema("id", (Column("price"),)), pl.Series([2, 1])).rows
    2
    """
    with open_table(path, filename=filename, limit_bytes=limit_bytes) as source:
        table, _ = _read_table(source, schema, ids)
        return Report(source.format, table.height, schema.names, path.stat().st_size, tuple(_warnings(table, schema)))


def read_submission(
    path: Path, schema: TableSchema, ids: pl.Series | None = None, *, filename: str | None = None
) -> pl.DataFrame:
    """The checked table: the id column as `ids` has it, the prediction columns in the types of the schema.

    Raises `ScoringInputError` as `check`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("price,id\\n1.5,2\\n")
    ...     read_submission(path, TableSchema("id", (Column("price"),)), pl.Series([2])).rows()
    [(2, 1.5)]
    """
    with open_table(path, filename=filename) as source:
        return _read_table(source, schema, ids)[0]


def read_reordered(path: Path, schema: TableSchema, ids: pl.Series) -> pl.DataFrame:
    """As `read_submission`, the rows in the order of `ids`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("id,price\\n1,1.5\\n2,2.5\\n")
    ...     read_reordered(path, TableSchema("id", (Column("price"),)), pl.Series([2, 1])).rows()
    [(2, 2.5), (1, 1.5)]
    """
    with open_table(path) as source:
        table, places = _read_table(source, schema, ids)
        return table if places is None else reorder(table, places, ids, schema.id_column)


def _read_table(source: Source, schema: TableSchema, ids: pl.Series | None) -> tuple[pl.DataFrame, Places | None]:
    """The table as it stands in the file, and where each row belongs among the ids; None where the order is theirs."""
    if source.format not in schema.formats:
        right = f"this competition takes {', '.join(schema.formats)}"
        raise ScoringInputError("unknown_format", "the file", f"it is a {source.format} file", right)
    try:
        table = _read_columns(source, schema, ids)
        places = _require_ids(source, table[schema.id_column], schema, ids)
        for column in schema.columns:
            _require_values(source, table, schema, column)
        for group in schema.probabilities:
            _require_sums(source, table, schema, group)
    except pl.exceptions.PolarsError as error:  # a kind of column that nobody has thought of is the team's all the same
        reason = printable(str(error).strip().partition("\n")[0][:200]) or type(error).__name__
        what = f"its values cannot be read as what is asked for ({reason})"
        raise ScoringInputError("wrong_type", "the table", what, "give plain numbers and texts") from error
    return table, places


def _read_columns(source: Source, schema: TableSchema, ids: pl.Series | None) -> pl.DataFrame:
    """The columns of the schema, in its order and types."""
    types: dict[str, Any] = {column.name: _TYPES[column.type] for column in schema.columns}
    types[schema.id_column] = pl.String() if ids is None else ids.dtype
    try:
        table = read_source(source, types=types)
    except ScoringInputError as error:
        if error.code != "unknown_format" or source.format not in ("csv", "tsv"):
            raise
        table = read_source(source, types=types, as_text=True)  # a cell is not of its type: below it is named
    _require_columns(table, schema)
    columns = [_cast_column(source, table, schema, name, types[name]) for name in schema.names]
    return pl.DataFrame(columns)


def _require_columns(table: pl.DataFrame, schema: TableSchema) -> None:
    absent = [ascii(name) for name in schema.names if name not in table.columns]
    if absent:
        there = f"the file has {join_values([ascii(name) for name in table.columns], show=8)}"
        raise ScoringInputError("missing_column", "the header", f"{join_values(absent)} is missing", there)
    others = [ascii(name) for name in table.columns if name not in schema.names]
    if others:
        right = f"give {join_values(schema.names, show=8)} alone"
        raise ScoringInputError("extra_column", "the header", f"{join_values(others)} is not asked for", right)


def _cast_column(source: Source, table: pl.DataFrame, schema: TableSchema, name: str, kind: Any) -> pl.Series:
    column = table[name]
    if name == schema.id_column:
        column = normalize_ids(column) if column.dtype != kind else column
        return _ids_as_numbers(column) if kind == pl.Int64 else column.cast(kind, strict=False)
    if kind == pl.String:
        return _as_allowed(column.cast(kind), next(known.allowed for known in schema.columns if known.name == name))
    if column.dtype == kind:
        return column
    text = column.str.strip_chars() if column.dtype == pl.String else column
    cast = _whole(text) if kind == pl.Int64 else text.cast(kind, strict=False)
    wrong = cast.is_null() & text.is_not_null()
    if text.dtype == pl.String:
        wrong &= text != ""
    plain = "whole number" if kind == pl.Int64 else "number"
    right = f"give a {plain} in every row"
    if text.dtype == pl.String and text.filter(wrong).str.contains(",").any():
        right += ", with a decimal point and nothing between thousands"
    _refuse(source, table, schema, wrong, "wrong_type", name, lambda value: f"{value!a} is no {plain}", right)
    return cast


def _ids_as_numbers(ids: pl.Series) -> pl.Series:
    """Texts such as 001, 1.0 and 1e5 as the numbers that a CSV makes of them; where there are others, these among texts."""
    if ids.dtype != pl.String:
        return ids
    numbers = _whole(ids.str.strip_chars())
    return numbers.cast(pl.String).fill_null(ids) if numbers.null_count() > ids.null_count() else numbers


def _as_allowed(texts: pl.Series, allowed: Sequence[Any]) -> pl.Series:
    """Where true and false are what is allowed, both as they are written there: each program has its own way."""
    words = {str(value).lower(): str(value) for value in allowed}
    if not words or len(words) < len(allowed) or not words.keys() <= {"true", "false"}:
        return texts
    return texts.str.to_lowercase().replace_strict(words, default=texts, return_dtype=pl.String)


def _whole(values: pl.Series) -> pl.Series:
    """Whole numbers, also where they are written with a point; null for the others."""
    numbers = values.cast(pl.Float64, strict=False)
    rounded = numbers.set(~(numbers == numbers.floor()), None).cast(pl.Int64, strict=False)
    return values.cast(pl.Int64, strict=False).fill_null(rounded) if values.dtype == pl.String else rounded


def _require_ids(source: Source, submitted_ids: pl.Series, schema: TableSchema, ids: pl.Series | None) -> Places | None:
    """Every id that is asked for once, and no other. Where each belongs; None where they stand there already."""
    if ids is not None and submitted_ids.equals(ids, check_names=False):
        return None
    if ids is not None and (places := find_places(submitted_ids, ids)) is not None:
        return places
    _name_wrong_ids(source, submitted_ids, schema, ids)
    return None


def _name_wrong_ids(source: Source, submitted_ids: pl.Series, schema: TableSchema, ids: pl.Series | None) -> None:
    """Refuse what is wrong with the ids; nothing is where none were asked for, and each is there once."""
    name = schema.id_column
    if submitted_ids.null_count():
        raise ScoringInputError(
            "nan", ascii(name), f"it is empty in {_places(source, submitted_ids.is_null())}", "give each row its id"
        )
    if submitted_ids.n_unique() < len(submitted_ids):
        repeated = submitted_ids.is_duplicated() & ~submitted_ids.is_first_distinct()
        values = join_values(
            [ascii(value) for value in submitted_ids.filter(repeated).head(_SHOWN).to_list()], total=int(repeated.sum())
        )
        raise ScoringInputError(
            "duplicate_ids", ascii(name), f"{values} is there again in {_places(source, repeated)}", "give each id once"
        )
    if ids is None:
        if schema.rows is not None and len(submitted_ids) != schema.rows:
            raise ScoringInputError(
                "wrong_shape", "the table", f"it has {len(submitted_ids):,} rows", f"give {schema.rows:,}"
            )
        return
    _require_same_ids(source, submitted_ids, name, ids if ids.dtype == submitted_ids.dtype else ids.cast(pl.String))


def _require_same_ids(source: Source, submitted_ids: pl.Series, name: str, ids: pl.Series) -> None:
    missing = ids.filter(~ids.is_in(submitted_ids.implode()))
    if len(missing):
        values = join_values([ascii(value) for value in missing.head(_SHOWN).to_list()], total=len(missing))
        right = f"give a row for each of the {len(ids):,} ids of the sample submission"
        raise ScoringInputError("missing_ids", ascii(name), f"{_count_of_ids(missing)} missing: {values}", right)
    others = ~submitted_ids.is_in(ids.implode())
    if others.any():
        values = join_values(
            [ascii(value) for value in submitted_ids.filter(others).head(_SHOWN).to_list()], total=int(others.sum())
        )
        right = f"leave out what is not in the sample submission (first in {_places(source, others)})"
        raise ScoringInputError(
            "unknown_ids", ascii(name), f"{_count_of_ids(submitted_ids.filter(others))} not asked for: {values}", right
        )


def _count_of_ids(ids: pl.Series) -> str:
    return "1 id is" if len(ids) == 1 else f"{len(ids):,} ids are"


def _require_values(source: Source, table: pl.DataFrame, schema: TableSchema, column: Column) -> None:
    values = table[column.name]

    def refuse(wrong: pl.Series, code: str, what: Callable[[Any], str], right: str) -> None:
        _refuse(source, table, schema, wrong, code, column.name, what, right)

    if not column.missing and column.type != "text":
        refuse(values.is_null(), "nan", lambda _: "it is empty", "give a value in every row")
    if not column.missing and column.type == "text":
        refuse(values.is_null() | (values == ""), "nan", lambda _: "it is empty", "give a value in every row")
    if column.type == "number":
        refuse(values.is_nan(), "nan", lambda _: "it is NaN", "give a number in every row")
        refuse(values.is_infinite(), "infinite", lambda _: "it is infinite", "give a finite number in every row")
    if column.minimum is not None:
        refuse(
            values < column.minimum,
            "out_of_range",
            lambda value: f"it is {value}",
            f"the smallest allowed is {column.minimum:g}",
        )
    if column.maximum is not None:
        refuse(
            values > column.maximum,
            "out_of_range",
            lambda value: f"it is {value}",
            f"the largest allowed is {column.maximum:g}",
        )
    if column.allowed:
        allowed = pl.Series(column.allowed, dtype=values.dtype, strict=False)
        right = f"the allowed values are {join_values(column.allowed, show=8)}"
        refuse(
            ~values.is_in(allowed.implode()) & values.is_not_null(),
            "unknown_class",
            lambda value: f"it is {value!a}",
            right,
        )


def _require_sums(source: Source, table: pl.DataFrame, schema: TableSchema, group: Sequence[str]) -> None:
    sums = table.select(pl.sum_horizontal(list(group))).to_series()
    wrong = (sums - 1).abs() > schema.tolerance
    if wrong.any():
        first = sums.filter(wrong)[0]
        what = f"the probabilities sum to {first:.6g} in {_places(source, wrong)}"
        raise ScoringInputError("not_a_distribution", f"{group[0]} to {group[-1]}", what, "make each row sum to 1")


def _refuse(
    source: Source,
    table: pl.DataFrame,
    schema: TableSchema,
    wrong: pl.Series,
    code: str,
    name: str,
    what: Callable[[Any], str],
    right: str,
) -> None:
    """Name the first value that is wrong, and up to five places with their ids."""
    if wrong.any():
        places = _places(source, wrong, table[schema.id_column])
        raise ScoringInputError(code, ascii(name), f"{what(table[name].filter(wrong)[0])} in {places}", right)


def _places(source: Source, wrong: pl.Series, ids: pl.Series | None = None) -> str:
    rows = wrong.arg_true()
    shown = [
        source.place(row) + ("" if ids is None else f" (id {ascii(ids[row])[:60]})")
        for row in rows.head(_SHOWN).to_list()
    ]
    return join_values(shown, total=len(rows))


def _warnings(table: pl.DataFrame, schema: TableSchema) -> Iterator[str]:
    same = [column.name for column in schema.columns if table.height > 1 and table[column.name].n_unique() == 1]
    if same:
        yield f"All rows are equal in {join_values(same)}."

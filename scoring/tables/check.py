"""Checks a team's table against the schema: before the upload, on the site, and at scoring.

Numbers are read as such at once; only a file in which that fails is read a second time as text, to name the cells.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.align import Places, find_places, normalize_ids, reorder
from scoring.tables.reading.delimited import plain_number
from scoring.tables.reading.file_types import join_values, printable
from scoring.tables.reading.files import SHOWN, Source, name_repeats, open_table, read_source, require_rows
from scoring.tables.schema import Column, ColumnType, TableSchema

_TYPES: Final[dict[ColumnType, pl.DataType]] = {"number": pl.Float64(), "integer": pl.Int64(), "text": pl.String()}


@dataclass(frozen=True)
class TableReport:
    """The content of a valid table; `warnings` are sentences on what looks like an accident."""

    format: str
    rows: int
    columns: tuple[str, ...]
    size_bytes: int
    warnings: tuple[str, ...] = ()


def check_table(
    path: Path, schema: TableSchema, ids: pl.Series | None = None, *, filename: str | None = None
) -> TableReport:
    """A report on a right table.

    `ids` are those that are asked for (`scoring.tables.align.read_ids` of the sample submission); without them only
    repeats and the number of rows are looked at. `filename` is the name that its owner gave the file. Raises
    `ScoringInputError` for the first fault, with the first five ids or lines.

    >>> import tempfile
    >>> from scoring.tables.reading.files import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(pl.DataFrame({"id": [1, 2], "price": [0.5, 2.0]}), Path(folder) / "p.csv")
    ...     check_table(path, TableSchema("id", (Column("price"),)), pl.Series([2, 1])).rows
    2
    """
    with open_table(path, filename=filename) as source:
        table, _ = _Reader(source, schema, ids).read()
        return TableReport(
            source.format, table.height, schema.names, path.stat().st_size, tuple(_warnings(table, schema))
        )


def read_submission(
    path: Path, schema: TableSchema, ids: pl.Series | None = None, *, filename: str | None = None
) -> pl.DataFrame:
    """The checked table: the id column as `ids` has it, the prediction columns in the types of the schema.

    Raises `ScoringInputError` as `check_table`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("price,id\\n1.5,2\\n")
    ...     read_submission(path, TableSchema("id", (Column("price"),)), pl.Series([2])).rows()
    [(2, 1.5)]
    """
    with open_table(path, filename=filename) as source:
        return _Reader(source, schema, ids).read()[0]


def read_reordered(path: Path, schema: TableSchema, ids: pl.Series, *, filename: str | None = None) -> pl.DataFrame:
    """Like `read_submission`, with the rows in the order of `ids`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("id,price\\n1,1.5\\n2,2.5\\n")
    ...     read_reordered(path, TableSchema("id", (Column("price"),)), pl.Series([2, 1])).rows()
    [(2, 2.5), (1, 1.5)]
    """
    with open_table(path, filename=filename) as source:
        table, places = _Reader(source, schema, ids).read()
        return table if places is None else reorder(table, places, ids, schema.id_column)


@dataclass(frozen=True)
class _Reader:
    """One file, read by a schema; `ids` are those that are asked for."""

    source: Source
    schema: TableSchema
    ids: pl.Series | None

    def read(self) -> tuple[pl.DataFrame, Places | None]:
        """The table as in the file, and the row of each id; None where the order is theirs."""
        if self.source.format not in self.schema.formats:
            right = f"this competition takes {', '.join(self.schema.formats)}"
            raise ScoringInputError("unknown_format", "the file", f"it is a {self.source.format} file", right)
        try:
            table = self._columns()
            places = self._require_ids(table[self.schema.id_column])
            for column in self.schema.columns:
                self._require_values(table, column)
            for group in self.schema.probabilities:
                self._require_sums(table, group)
        # A kind of column that nobody thought of is the team's, too.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = printable(str(error).strip().partition("\n")[0][:200]) or type(error).__name__
            what = f"its values cannot be read as what is asked for ({reason})"
            raise ScoringInputError("wrong_type", "the table", what, "give plain numbers and texts") from error
        return table, places

    def _columns(self) -> pl.DataFrame:
        """The columns of the schema, in its order and types."""
        types: dict[str, pl.DataType] = {column.name: _TYPES[column.type] for column in self.schema.columns}
        types[self.schema.id_column] = pl.String() if self.ids is None else self.ids.dtype
        try:
            table = read_source(self.source, types=types)
        except ScoringInputError as error:
            if error.code != "unknown_format" or self.source.format not in ("csv", "tsv"):
                raise
            table = read_source(self.source, types=types, as_text=True)  # a cell is not of its type: below it is named
        _require_columns(table, self.schema)
        require_rows(table)
        return pl.DataFrame([self._cast_column(table, name, types[name]) for name in self.schema.names])

    def _cast_column(self, table: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Series:
        column = table[name]
        if name == self.schema.id_column:
            column = normalize_ids(column) if column.dtype != kind else column
            if kind == pl.Int64:
                return _ids_as_numbers(column)
            texts = column.cast(kind, strict=False)
            return texts if self.ids is None else _with_zeros(texts, self.ids)
        if kind == pl.String:
            allowed = next(known.allowed for known in self.schema.columns if known.name == name)
            texts = _as_allowed(column.cast(kind), allowed)
            return texts.fill_null("") if "" in allowed else texts  # a CSV has one empty cell for both
        return column if column.dtype == kind else self._as_numbers(table, name, kind)

    def _as_numbers(self, table: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Series:
        text = table[name]
        is_text = text.dtype == pl.String
        text = text.str.strip_chars() if is_text else text
        numbers = _whole(text) if kind == pl.Int64 else text.cast(kind, strict=False)
        wrong = numbers.is_null() & text.is_not_null()
        if is_text:
            wrong &= text != ""
        plain = "whole number" if kind == pl.Int64 else "number"
        right = f"give a {plain} in every row"
        if is_text and wrong.any():
            right += _number_advice(text.filter(wrong))
        self._refuse(table, name, wrong, "wrong_type", lambda value: f"{value!a} is not a {plain}", right)
        return numbers

    def _require_ids(self, submitted: pl.Series) -> Places | None:
        """The place of each id, each wanted one once; None where they are in order already."""
        if self.ids is not None and submitted.equals(self.ids, check_names=False):
            return None
        if self.ids is not None and (places := find_places(submitted, self.ids)) is not None:
            return places
        self._name_wrong_ids(submitted)
        return None

    def _name_wrong_ids(self, submitted: pl.Series) -> None:
        """Refuse what is wrong with the ids; nothing is where none were asked for, and each is there once."""
        where = ascii(self.schema.id_column)
        if submitted.null_count():
            what = f"it is empty in {self._places(submitted.is_null())}"
            raise ScoringInputError("nan", where, what, "give each row its id")
        if submitted.n_unique() < len(submitted):
            what = name_repeats(submitted, self.source.place)
            raise ScoringInputError("duplicate_ids", where, what, "give each id once")
        if self.ids is not None:
            self._require_same_ids(
                submitted, self.ids if self.ids.dtype == submitted.dtype else self.ids.cast(pl.String)
            )
        elif self.schema.rows is not None and len(submitted) != self.schema.rows:
            what = f"it has {len(submitted):,} rows"
            raise ScoringInputError("wrong_shape", "the table", what, f"give {self.schema.rows:,}")

    def _require_same_ids(self, submitted: pl.Series, ids: pl.Series) -> None:
        where = ascii(self.schema.id_column)
        missing = ids.filter(~ids.is_in(submitted.implode()))
        if len(missing):
            right = f"give a row for each of the {len(ids):,} ids of the sample submission"
            raise ScoringInputError("missing_ids", where, f"{_count(missing)} missing: {_first(missing)}", right)
        is_other = ~submitted.is_in(ids.implode())
        if is_other.any():
            others = submitted.filter(is_other)
            right = f"leave out what is not in the sample submission (first in {self._places(is_other)})"
            raise ScoringInputError("unknown_ids", where, f"{_count(others)} not asked for: {_first(others)}", right)

    def _require_values(self, table: pl.DataFrame, column: Column) -> None:
        values = table[column.name]
        refuse = partial(self._refuse, table, column.name)
        if not column.missing:
            empty = values.is_null() | (values == "") if column.type == "text" else values.is_null()
            refuse(empty, "nan", lambda _: "it is empty", "give a value in every row")
        if column.type == "number":
            refuse(values.is_nan(), "nan", lambda _: "it is NaN", "give a number in every row")
            refuse(values.is_infinite(), "infinite", lambda _: "it is infinite", "give a finite number in every row")
        if column.minimum is not None:
            right = f"the smallest allowed is {column.minimum:g}"
            refuse(values < column.minimum, "out_of_range", lambda value: f"it is {value}", right)
        if column.maximum is not None:
            right = f"the largest allowed is {column.maximum:g}"
            refuse(values > column.maximum, "out_of_range", lambda value: f"it is {value}", right)
        if column.allowed:
            allowed = pl.Series(column.allowed, dtype=values.dtype, strict=False)
            wrong = ~values.is_in(allowed.implode()) & values.is_not_null()
            right = f"the allowed values are {join_values(column.allowed, show=8)}"
            refuse(wrong, "unknown_class", lambda value: f"it is {value!a}", right)

    def _require_sums(self, table: pl.DataFrame, group: Sequence[str]) -> None:
        sums = table.select(pl.sum_horizontal(list(group))).to_series()
        wrong = (sums - 1).abs() > self.schema.tolerance
        if wrong.any():
            what = f"the probabilities sum to {sums.filter(wrong)[0]:.6g} in {self._places(wrong)}"
            raise ScoringInputError("not_a_distribution", f"{group[0]} to {group[-1]}", what, "make each row sum to 1")

    def _refuse(
        self, table: pl.DataFrame, name: str, wrong: pl.Series, code: str, what: Callable[[Any], str], right: str
    ) -> None:
        """Name the first value that is wrong, and up to five places with their ids."""
        if wrong.any():
            places = self._places(wrong, table[self.schema.id_column])
            raise ScoringInputError(code, ascii(name), f"{what(table[name].filter(wrong)[0])} in {places}", right)

    def _places(self, wrong: pl.Series, ids: pl.Series | None = None) -> str:
        rows = wrong.arg_true()
        first = rows.head(SHOWN).to_list()
        tails = ["" if ids is None else f" (id {ascii(ids[row])[:60]})" for row in first]
        shown = [self.source.place(row) + tail for row, tail in zip(first, tails, strict=True)]
        return join_values(shown, total=len(rows))


def _require_columns(table: pl.DataFrame, schema: TableSchema) -> None:
    absent = [ascii(name) for name in schema.names if name not in table.columns]
    if absent:
        there = f"the file has {join_values([ascii(name) for name in table.columns], show=8)}"
        missing = f"column {absent[0]} is" if len(absent) == 1 else f"the columns {join_values(absent)} are"
        raise ScoringInputError("missing_column", "", f"{missing} missing", there)
    others = [ascii(name) for name in table.columns if name not in schema.names]
    if others:
        right = f"give {join_values(schema.names, show=8)} alone"
        extra = f"column {others[0]} is" if len(others) == 1 else f"the columns {join_values(others)} are"
        raise ScoringInputError("extra_column", "", f"{extra} not asked for", right)


def _ids_as_numbers(ids: pl.Series) -> pl.Series:
    """Texts such as 001, 1.0 and 1e5 as the numbers that a CSV makes of them.

    Where there are others, these numbers among texts.
    """
    if ids.dtype != pl.String:
        return ids
    numbers = _whole(ids.str.strip_chars())
    return numbers.cast(pl.String).fill_null(ids) if numbers.null_count() > ids.null_count() else numbers


def _with_zeros(submitted: pl.Series, ids: pl.Series) -> pl.Series:
    """The texts as the wanted ids are written, where those have zeros in front that programs drop."""
    if ids.head(1).cast(pl.Int64, strict=False).null_count():
        return submitted  # of most texts the first one tells
    numbers = ids.cast(pl.Int64, strict=False)
    if numbers.null_count() or numbers.n_unique() < len(numbers):
        return submitted
    given = _ids_as_numbers(submitted)
    if given.dtype != pl.Int64:
        return submitted
    return given.replace_strict(numbers, ids, default=submitted, return_dtype=pl.String)


def _as_allowed(texts: pl.Series, allowed: Sequence[Any]) -> pl.Series:
    """The texts, with true and false as the allowed values write them, where these are all.

    Each program writes them in its own way.
    """
    words = {str(value).lower(): str(value) for value in allowed}
    if not words or len(words) < len(allowed) or not words.keys() <= {"true", "false"}:
        return texts
    return texts.str.to_lowercase().replace_strict(words, default=texts, return_dtype=pl.String)


def _whole(values: pl.Series) -> pl.Series:
    """Whole numbers, also where they are written with a point; null for the others."""
    numbers = values.cast(pl.Float64, strict=False)
    rounded = numbers.set(~(numbers == numbers.floor()), None).cast(pl.Int64, strict=False)
    return values.cast(pl.Int64, strict=False).fill_null(rounded) if values.dtype == pl.String else rounded


def _number_advice(wrong: pl.Series) -> str:
    """Advice on numbers, where some of the texts that are none have separators."""
    written = next(filter(None, map(plain_number, wrong.head(SHOWN).to_list())), "")
    if not written and not wrong.str.contains(",").any():
        return ""
    return ", with a decimal point and nothing between thousands" + (f": {written}" if written else "")


def _first(values: pl.Series) -> str:
    return join_values([ascii(value) for value in values.head(SHOWN).to_list()], total=len(values))


def _count(ids: pl.Series) -> str:
    return "1 id is" if len(ids) == 1 else f"{len(ids):,} ids are"


def _warnings(table: pl.DataFrame, schema: TableSchema) -> Iterator[str]:
    same = [column.name for column in schema.columns if table.height > 1 and table[column.name].n_unique() == 1]
    if same:
        yield f"All rows are equal in {join_values(same)}."

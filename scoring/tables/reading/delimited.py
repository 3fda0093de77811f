"""CSV and TSV: what separates the cells, what the columns are called, numbers with decimal commas.

The separator of a CSV is what the first lines agree on outside quotes: a comma, a semicolon or a tab. Where it is no
comma, numbers may have decimal commas, as spreadsheets of many languages write them.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.reading.encodings import require_utf8
from scoring.tables.schema import name_on_one_line

_START_BYTES: Final = 1 << 20  # the header ends within
_FIRST_LINES: Final = 10_000
_COMPARED_LINES: Final = 50
_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs"}
_QUOTED: Final = re.compile(r'"[^"]*"')
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_DECIMAL_COMMA: Final = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
_THOUSANDS: Final = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"  # or a decimal comma: nobody can tell
_GROUPED: Final = r"\s*[+-]?\d{1,3}(?:[,.'\u2019\u00a0\u202f ]\d{3})+(?:[.,]\d+)?\s*"
# No list of numbers, no version.
_GROUPED_SURELY: Final = r"\s*[+-]?\d{1,3}(?:[,'\u2019\u00a0\u202f]\d{3})+(?:\.\d+)?\s*"
_SEPARATOR_OF_THOUSANDS: Final = "[,.'\u2019\u00a0\u202f ]"
_PLAIN: Final = r"\s*[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?\s*"


@dataclass(frozen=True)
class Layout:
    """The layout of a text file with a table."""

    names: tuple[str, ...]
    separator: str
    line_end: str


def read_delimited(path: Path, *, is_tsv: bool, types: Mapping[str, object], as_text: bool) -> pl.DataFrame:
    """The table in the file, with the given or the suggested types; with `as_text`, its cells.

    Raises `ScoringInputError`, or what polars raises.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text('id;"Preis, EUR"\\n7;1,5\\n')
    ...     read_delimited(path, is_tsv=False, types={}, as_text=False).to_dict(as_series=False)
    {'id': [7], 'Preis, EUR': [1.5]}
    """
    layout = _read_layout(path, is_tsv=is_tsv)
    repeated = _first_repeated(layout.names)
    if repeated is not None:
        raise ScoringInputError("extra_column", "the header", f"{repeated!a} is there twice", "name each column once")
    table = _without_blank_end(_name_columns(_parse(path, layout, types, as_text), layout))
    if layout.separator == ",":
        return table
    return _with_decimal_points(table, types, as_text)


def _read_layout(path: Path, *, is_tsv: bool) -> Layout:
    text = _read_start(path)
    outside = _QUOTED.sub("", text)
    separator = "\t" if is_tsv else _find_separator(outside)
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = next((record for record in records if record), [])
    except csv.Error as error:
        raise ScoringInputError("unknown_format", "the header", "a quote in it does not end", "end it") from error
    names = tuple(map(name_on_one_line, header))
    return Layout(names, separator, "\r" if "\r" in outside and "\n" not in outside else "\n")


def _read_start(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    except UnicodeDecodeError:
        require_utf8(path)
        raise


def _find_separator(outside: str) -> str:
    """The separator that the first lines hold as often as the header; else the most frequent."""
    first = _LINE_END.split(outside, maxsplit=_COMPARED_LINES)[:_COMPARED_LINES]
    lines = [line for line in first if line.strip()] or [""]

    def fit(separator: str) -> tuple[bool, int]:
        counts = [line.count(separator) for line in lines]
        return counts[0] > 0 and len(set(counts)) == 1, counts[0]

    return max(_SEPARATORS, key=fit)


def _first_repeated(names: tuple[str, ...]) -> str | None:
    """The first name that is there twice; columns without a name are judged by what they hold."""
    met: set[str] = set()
    for name in names:
        if name in met and name.strip():
            return name
        met.add(name)
    return None


def _parse(path: Path, layout: Layout, types: Mapping[str, object], as_text: bool) -> pl.DataFrame:
    known = {} if as_text else {name: kind for name, kind in types.items() if name in layout.names}
    read = partial(pl.read_csv, path, separator=layout.separator, eol_char=layout.line_end, infer_schema=not as_text)
    try:
        return _read_twice_for_booleans(read, _FIRST_LINES, known)
    except pl.exceptions.ComputeError:
        pass  # what the first lines suggest does not hold for all, or a cell is not of its type
    if layout.separator != ",":  # numbers may have decimal commas, which are text at first
        known = {name: kind for name, kind in known.items() if kind != pl.Float64}
    try:
        return _read_twice_for_booleans(read, None, known)
    except pl.exceptions.ComputeError as error:
        if "utf-8" in str(error):
            require_utf8(path)
        _require_width(path, layout)
        raise


def _read_twice_for_booleans(
    read: Callable[..., pl.DataFrame], first_lines: int | None, known: Mapping[str, object]
) -> pl.DataFrame:
    """The table with True and False as they are written.

    Read as Boolean they would be other texts than a team's.
    """
    table = read(infer_schema_length=first_lines, schema_overrides=known)
    texts = {name: pl.String() for name, kind in table.schema.items() if kind == pl.Boolean}
    return read(infer_schema_length=first_lines, schema_overrides={**known, **texts}) if texts else table


def _require_width(path: Path, layout: Layout) -> None:
    """Refuse a file with a row that has more cells than the header has names."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        records = csv.reader(file, delimiter=layout.separator)
        try:
            width = next((len(record) for record in records if len(record) > len(layout.names)), None)
        except csv.Error:
            return
    if width is not None:
        what = f"it has {width:,} cells, but the header has {len(layout.names):,} names"
        right = f"quote texts that hold {_SEPARATORS[layout.separator]}"
        if layout.separator == ",":
            right += ", and write numbers with a decimal point"
        raise ScoringInputError("unknown_format", f"line {records.line_num:,}", what, right)


def _name_columns(table: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    """The table with its header's names, without empty columns from separators at the ends of lines."""
    if table.width != len(layout.names):
        what, right = "its names cannot be told apart", "quote names that hold separators, quotes or line ends"
        raise ScoringInputError("unknown_format", "the header", what, right)
    for place, name in enumerate(layout.names):
        if not name.strip() and not _is_blank(table.to_series(place)):
            right = "name it, or leave it out (pandas writes its index unless index=False is given)"
            raise ScoringInputError("extra_column", "the header", f"column {place + 1:,} has no name", right)
    table = table.drop([given for given, name in zip(table.columns, layout.names, strict=True) if not name.strip()])
    table.columns = [name for name in layout.names if name.strip()]
    return table


def _is_blank(column: pl.Series) -> bool:
    return column.null_count() == len(column) or bool((column.cast(pl.String).str.strip_chars() == "").all())


def _without_blank_end(table: pl.DataFrame) -> pl.DataFrame:
    """Without the rows of blank lines at the end; others stay, so that the numbers of lines do."""
    if not table.height or any(cell is not None for cell in table.row(-1)):
        return table
    held = table.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_true()
    return table.head(int(held[-1]) + 1 if len(held) else 0)


def _with_decimal_points(table: pl.DataFrame, types: Mapping[str, object], as_text: bool) -> pl.DataFrame:
    """The table with decimal commas read as numbers.

    These are columns that must be numbers, or where no types are given all that can be.
    """
    for name, kind in table.schema.items():
        is_number = types.get(name) == pl.Float64
        if kind == pl.String and (is_number or not (types or as_text)):
            table = table.with_columns(_with_points(table[name], is_number=is_number))
    return table


def _with_points(column: pl.Series, *, is_number: bool) -> pl.Series:
    """The column as numbers where all of it is; else with its other cells as they are.

    The latter is for a column that must be numbers.
    """
    has_comma = column.str.contains(_DECIMAL_COMMA)
    if not (has_comma & ~column.str.contains(_THOUSANDS)).any():
        return column
    points = column.str.replace(_DECIMAL_COMMA, "$1.$2")
    numbers = points.str.strip_chars().cast(pl.Float64, strict=False)
    if numbers.null_count() == column.null_count():
        return numbers
    return points if is_number else column


def plain_number(text: str) -> str:
    """A number with separators between thousands as it should be written; empty for any other text.

    >>> plain_number("1,234.5"), plain_number("1.234.567,8"), plain_number("1,500"), plain_number("x")
    ('1234.5', '1234567.8', '1500 (or 1.500, if the comma is a decimal comma)', '')
    """
    if not re.fullmatch(_GROUPED, text):
        return ""
    if re.fullmatch(r"\s*[+-]?\d{1,3},\d{3}\s*", text):
        joined = text.strip().replace(",", "")
        return f"{joined} (or {text.strip().replace(',', '.')}, if the comma is a decimal comma)"
    separators = re.findall(_SEPARATOR_OF_THOUSANDS, text.strip())
    *groups, last = re.split(_SEPARATOR_OF_THOUSANDS, text.strip())
    has_fraction = len(last) != 3 or separators[-1] != separators[0]
    return f"{''.join(groups)}.{last}" if has_fraction else "".join([*groups, last])


def first_grouped(column: pl.Series) -> int | None:
    """The row of the first number with a separator between thousands, where all texts are numbers.

    >>> first_grouped(pl.Series(["7", "1,234"])), first_grouped(pl.Series(["1,234", "a"]))
    (1, None)
    """
    if column.dtype != pl.String:
        return None
    grouped = column.str.contains(f"^(?:{_GROUPED_SURELY})$")
    if not grouped.any() or not column.drop_nulls().str.contains(f"^(?:{_GROUPED_SURELY}|{_PLAIN})$").all():
        return None
    return int(grouped.arg_true()[0])

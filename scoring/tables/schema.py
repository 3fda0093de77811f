"""The schema of a table of predictions: its id column, and its columns with types and values."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict, cast, get_args

from scoring.errors import ScoringInputError

ColumnType = Literal["number", "integer", "text"]
Format = Literal["csv", "tsv", "parquet", "jsonl", "npz"]
Value: TypeAlias = str | int | float

TYPES: Final[tuple[ColumnType, ...]] = get_args(ColumnType)
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MAX_COLUMNS: Final = 2000
MAX_ALLOWED: Final = 100_000


class ColumnDocument(TypedDict, total=False):
    """A prediction column, as it stands in JSON."""

    name: Required[str]
    type: ColumnType
    allowed: list[Value]
    minimum: float
    maximum: float
    missing: bool


class SchemaDocument(TypedDict, total=False):
    """A schema, as it stands in JSON."""

    id_column: Required[str]
    columns: Required[list[ColumnDocument]]
    rows: int
    formats: list[Format]
    probabilities: list[list[str]]
    tolerance: float


@dataclass(frozen=True)
class Column:
    """One prediction column.

    `allowed` lists the only values that may stand there, as the file shows them; `minimum` and `maximum` belong to
    numbers. Where `missing` is true a cell may be empty.

    >>> Column("price", minimum=0).type
    'number'
    """

    name: str
    type: ColumnType = "number"
    allowed: tuple[Value, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        where = f"column {self.name!r}"
        _require(bool(str(self.name).strip()), "columns", "a name is empty", "name each one")
        _require(self.type in TYPES, where, f"its type is {self.type!r}", f"use one of {', '.join(TYPES)}")
        _require(
            len(self.allowed) <= MAX_ALLOWED, where, "too many values are allowed", f"list {MAX_ALLOWED:,} at most"
        )
        unstorable = [text for text in (self.name, *self.allowed) if isinstance(text, str) and "\0" in text]
        _require(not unstorable, where, f"{ascii(unstorable[:1])[1:-1]} holds a NUL character", "leave that out")
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        _require(all(map(_is_number, bounds)), where, "a bound is not a number", "give finite numbers")
        _require(bounds == sorted(bounds), where, "the minimum is above the maximum", "swap them")
        _require(not bounds or self.type != "text", where, "a text has no minimum or maximum", "use the type number")


@dataclass(frozen=True)
class TableSchema:
    """A table of predictions: one row an id, in any order, with exactly these columns.

    `rows` is the number of rows where it is known, `formats` what may be uploaded, `probabilities` groups of columns
    whose values must sum to 1 in each row (within `tolerance`).

    >>> TableSchema("id", (Column("price"),)).names
    ('id', 'price')
    """

    id_column: str
    columns: tuple[Column, ...]
    rows: int | None = None
    formats: tuple[Format, ...] = FORMATS
    probabilities: tuple[tuple[str, ...], ...] = ()
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        _require(bool(str(self.id_column).strip()), "id_column", "it is empty", "name the column")
        _require(
            0 < len(self.columns) <= MAX_COLUMNS,
            "columns",
            f"there are {len(self.columns)}",
            f"give 1 to {MAX_COLUMNS:,}",
        )
        repeated = sorted(name for name, count in Counter(self.names).items() if count > 1)
        _require(not repeated, "columns", f"{', '.join(repeated[:5])} is there twice", "name each column once")
        _require(
            self.rows is None or _is_whole(self.rows, 1), "rows", f"it is {self.rows!r}", "give a whole number from 1"
        )
        unknown = set(self.formats) - set(FORMATS)
        _require(
            bool(self.formats) and not unknown, "formats", f"it is {list(self.formats)}", f"use {', '.join(FORMATS)}"
        )
        _require(
            _is_number(self.tolerance) and self.tolerance >= 0, "tolerance", "it is not a number", "give 0 or more"
        )
        numbers = {column.name for column in self.columns if column.type != "text"}
        strangers = sorted({name for group in self.probabilities for name in group} - numbers)
        _require(not strangers, "probabilities", f"{', '.join(strangers[:5])} is not a column of numbers", "name some")

    @property
    def names(self) -> tuple[str, ...]:
        """The id column, then the prediction columns."""
        return (self.id_column, *(column.name for column in self.columns))

    @classmethod
    def from_json(cls, value: object) -> "TableSchema":
        """The schema that `as_json` wrote, or that a person wrote by hand.

        Raises `ScoringInputError` (``bad_schema``) with the field at fault.

        >>> TableSchema.from_json({"id_column": "id", "columns": [{"name": "price"}]}).columns[0].type
        'number'
        """
        given = _read_fields(value, cls, "the table", {"id_column", "columns"})
        columns = _read_list(given.pop("columns"), "columns", _column)
        groups = _read_list(
            given.pop("probabilities", ()), "probabilities", lambda group: _read_list(group, "probabilities", str)
        )
        formats = _read_list(given.pop("formats", FORMATS), "formats", lambda name: name)
        return cls(columns=columns, probabilities=groups, formats=formats, **given)

    def as_json(self) -> SchemaDocument:
        """Plain values; what is as by default is left out.

        >>> TableSchema("id", (Column("price", minimum=0),)).as_json()
        {'id_column': 'id', 'columns': [{'name': 'price', 'minimum': 0}]}
        """
        columns = [without_defaults(column) for column in self.columns]
        return cast("SchemaDocument", without_defaults(self) | {"columns": columns})


def _column(value: object) -> Column:
    given = _read_fields(value, Column, "columns", {"name"})
    allowed = _read_list(given.pop("allowed", ()), "allowed", _value)
    return Column(allowed=allowed, **given)


def _value(value: object) -> Value:
    _require(isinstance(value, str) or _is_number(value), "allowed", f"it holds {value!r}", "give texts or numbers")
    return value  # type: ignore[return-value]  # just checked


def _read_fields(value: object, kind: type, where: str, needed: set[str]) -> dict[str, Any]:
    _require(isinstance(value, Mapping), where, "it is not a mapping", "give names with values")
    given: dict[str, Any] = dict(value)  # type: ignore[call-overload]  # just checked
    known = {field.name for field in fields(kind)}
    strangers = sorted(map(str, set(given) - known))
    _require(
        not strangers, where, f"{', '.join(strangers[:5])} is not a field of it", f"use {', '.join(sorted(known))}"
    )
    absent = sorted(needed - set(given))
    _require(not absent, where, f"{', '.join(absent)} is missing", "add it")
    return given


def _read_list(value: object, where: str, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    _require(is_list, where, "it is not a list", "give a list")
    return tuple(read(item) for item in value)  # type: ignore[attr-defined]  # just checked


def without_defaults(value: Any) -> dict[str, object]:
    """The fields of a dataclass as plain values, without those that are as by default.

    >>> without_defaults(Column("price", minimum=0))
    {'name': 'price', 'minimum': 0}
    """
    defaults = {field.name: field.default for field in fields(value)}
    plain = asdict(value)
    return {name: _as_lists(given) for name, given in plain.items() if given != defaults[name]}


def _as_lists(value: Any) -> Any:
    return [_as_lists(item) for item in value] if isinstance(value, (tuple, list)) else value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object, lowest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= lowest


def _require(right: bool, where: str, what: str, should: str) -> None:
    if not right:
        raise ScoringInputError("bad_schema", where, what, should)


def name_on_one_line(name: str) -> str:
    r"""The name with a blank for each line break and the blanks around it.

    >>> name_on_one_line(" a \n\n b\r\nc ")
    ' a b c '
    """
    first, *others = re.split("[\r\n]+", name)
    if not others:
        return name
    *middle, last = others
    return " ".join([first.rstrip(), *filter(None, map(str.strip, middle)), last.lstrip()])

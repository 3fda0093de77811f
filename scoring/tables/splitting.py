"""The public and the private part of a solution: by a column, or by a seeded share of rows."""

from datetime import datetime
from typing import Final, Literal

import numpy as np
import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.columns import require_column
from scoring.tables.reading.file_types import join_values

Usage = Literal["Public", "Private", "Ignored"]

USAGE: Final = "Usage"
USAGES: Final[tuple[Usage, ...]] = ("Public", "Private", "Ignored")
_NAMES: Final = ("usage", "split")
_DATED: Final = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?$"
_STRATA: Final = 10
_FEW: Final = 20


def usage_column(table: pl.DataFrame) -> str | None:
    """The column with the part of each row, if there is one: ``Usage`` or ``split``.

    >>> usage_column(pl.DataFrame({"id": [1, 2], "split": ["public", "private"]}))
    'split'
    """
    known = {usage.lower() for usage in USAGES}
    for name in table.columns:
        if name.lower() in _NAMES and table[name].dtype == pl.String:
            values = {str(value).strip().lower() for value in table[name].unique().to_list()}
            if values <= known:
                return name
    return None


def read_usage(table: pl.DataFrame, column: str) -> pl.Series:
    """The parts as `USAGES` spells them.

    Raises `ScoringInputError` (``unknown_class``) for other values, or where no row counts.

    >>> read_usage(pl.DataFrame({"split": ["public", "PRIVATE"]}), "split").to_list()
    ['Public', 'Private']
    """
    values = require_column(table, column).cast(pl.String).str.strip_chars().str.to_titlecase()
    others = table[column].filter(~values.is_in(USAGES) | values.is_null())
    if len(others):
        what = f"it holds {join_values([ascii(value) for value in others.unique().to_list()])}"
        raise ScoringInputError("unknown_class", ascii(column), what, "use Public, Private and Ignored alone")
    if values.is_in(USAGES[:2]).sum() == 0:
        raise ScoringInputError("no_labelled_rows", ascii(column), "no row counts", "mark rows as Public or Private")
    return values.alias(USAGE)


def with_usage(
    table: pl.DataFrame, *, fraction: float, seed: int, stratify: str | None = None, group: str | None = None
) -> pl.DataFrame:
    """The table with a column ``Usage``: `fraction` of the rows ``Public``, the others ``Private``.

    `fraction` is above 0 and below 1; the same `seed` gives the same rows anywhere. `stratify` names a column whose
    values (numbers: tenths) are shared out evenly, `group` one whose equal values stay together, such as a patient.
    Raises `ScoringInputError` (``bad_parameter``, ``missing_column``), also where one part would be empty.

    >>> with_usage(pl.DataFrame({"id": range(4)}), fraction=0.5, seed=1)["Usage"].to_list().count("Public")
    2
    """
    if not 0 < fraction < 1:
        raise ScoringInputError("bad_parameter", "fraction", f"it is {fraction}", "give a number between 0 and 1")
    for name in (stratify, group):
        if name is not None:
            require_column(table, name)
    units = _codes(table[group]) if group else np.arange(table.height)
    strata = _strata(table[stratify]) if stratify else np.zeros(table.height, dtype=np.int64)
    public = _draw_public(units, strata, fraction, np.random.default_rng(seed))
    if not 0 < public.sum() < table.height:
        raise ScoringInputError(
            "bad_parameter", "fraction", "one part would have no rows", "choose another fraction or grouping"
        )
    return _with_marks(table, public)


def read_instants(column: pl.Series) -> pl.Series | None:
    """The column as instants in UTC, where it is of dates or ISO texts.

    Such as 2026-05-01 or 2026-05-01T10:00. None where a value is missing or something else; fractions of seconds are dropped.

    >>> instants = read_instants(pl.Series(["2026-05-01", "2026-05-02T10:00"]))
    >>> [] if instants is None else instants.to_list()
    [datetime.datetime(2026, 5, 1, 0, 0), datetime.datetime(2026, 5, 2, 10, 0)]
    """
    if column.is_empty() or column.null_count():
        return None
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        plain = column if column.dtype == pl.Date else column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return plain.cast(pl.Datetime("us"))
    if column.dtype != pl.String or not column.str.contains(_DATED).all():
        return None
    clock = (column.str.slice(11, 8).str.strip_chars_end("Z") + ":00").str.slice(0, 8)
    texts = column.str.slice(0, 10) + " " + clock.replace(":00", "00:00:00")
    instants = texts.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")
    return None if instants.null_count() else instants


def with_usage_by_time(table: pl.DataFrame, *, column: str, cut: datetime) -> pl.DataFrame:
    """The table with a column ``Usage``: rows before `cut` ``Public``, the others ``Private``.

    `column` holds dates or instants, those of text in the form 2026-05-01 or 2026-05-01T10:00, in UTC; so is `cut`,
    without a time zone. Raises `ScoringInputError` (``missing_column``, ``bad_parameter``), also where one part would be
    empty.

    >>> table = pl.DataFrame({"day": ["2026-05-01", "2026-05-02"]})
    >>> with_usage_by_time(table, column="day", cut=datetime(2026, 5, 2))["Usage"].to_list()
    ['Public', 'Private']
    """
    instants = read_instants(require_column(table, column))
    if instants is None:
        what = "not all of its values are dates"
        raise ScoringInputError("bad_parameter", ascii(column), what, "write each as 2026-05-01 or 2026-05-01T10:00")
    is_public = instants < cut
    if not 0 < is_public.sum() < table.height:
        values: list[datetime] = instants.to_list()
        what = f"one part would have no rows: they are from {min(values)} to {max(values)}"
        raise ScoringInputError("bad_parameter", "cut", what, "choose an instant between the two")
    return _with_marks(table, is_public.to_numpy())


def _with_marks(table: pl.DataFrame, public: np.typing.NDArray[np.bool_]) -> pl.DataFrame:
    return table.with_columns(pl.Series(USAGE, np.where(public, "Public", "Private").tolist()))


def _draw_public(
    units: np.typing.NDArray[np.int64], strata: np.typing.NDArray[np.int64], fraction: float, rng: np.random.Generator
) -> np.typing.NDArray[np.bool_]:
    """True for each public row.

    A unit belongs to the stratum of its first row; within one, units come in random order until the rows that are wanted are there.
    """
    count = int(units.max()) + 1 if len(units) else 0
    sizes = np.bincount(units, minlength=count)
    first = np.full(count, len(units))
    np.minimum.at(first, units, np.arange(len(units)))
    order = rng.permutation(count)
    order = order[np.argsort(strata[first[order]], kind="stable")]
    chosen = np.zeros(count, dtype=np.bool_)
    ordered = strata[first[order]]
    for stratum in np.unique(ordered):
        members = order[ordered == stratum]
        middle = np.cumsum(sizes[members]) - sizes[members] / 2
        chosen[members] = middle < fraction * sizes[members].sum()
    return chosen[units]


def _codes(column: pl.Series) -> np.typing.NDArray[np.int64]:
    return column.cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) - 1


def _strata(column: pl.Series) -> np.typing.NDArray[np.int64]:
    """Equal values are a stratum; of a column with many numbers, each tenth of them."""
    if column.dtype.is_numeric() and column.n_unique() > _FEW:
        ranks = column.rank("ordinal").fill_null(0).to_numpy().astype(np.float64)
        return np.floor(ranks * _STRATA / (len(column) + 1)).astype(np.int64)
    return _codes(column)

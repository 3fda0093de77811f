"""Bringing a solution and a team's table together: the same ids, the same order, arrays as a metric takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scoring.errors import ScoringInputError
from scoring.tables.columns import classes_of, require_column
from scoring.tables.metrics.base import Kind, Rows, TableMetric
from scoring.tables.schema import TableSchema

_SPARSE: Final = 8  # numbers up to this many times as many as there are rows are looked up in a table


def ids_of(table: pl.DataFrame, id_column: str) -> pl.Series:
    """The ids, as whole numbers where all are, else as text.

    Raises `ScoringInputError` (``missing_column``, ``duplicate_ids``).

    >>> ids_of(pl.DataFrame({"id": ["7", "8"]}), "id").to_list(), ids_of(pl.DataFrame({"id": ["07", "8"]}), "id").to_list()
    ([7, 8], ['07', '8'])
    """
    ids = as_ids(require_column(table, id_column))
    if ids.null_count() or ids.n_unique() < len(ids):
        raise ScoringInputError(
            "duplicate_ids", ascii(id_column), "an id is empty or there twice", "give each row an id of its own"
        )
    return ids


def as_ids(column: pl.Series) -> pl.Series:
    """The values as whole numbers where each reads as it is written, else as text.

    >>> as_ids(pl.Series([1.0, 2.0])).to_list(), as_ids(pl.Series(["a", "1"])).to_list()
    ([1, 2], ['a', '1'])
    """
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    text = column.cast(pl.String)
    if column.dtype.is_float():
        return column.cast(pl.Int64) if (column == column.floor()).all() else text
    numbers = text.cast(pl.Int64, strict=False)
    return numbers if numbers.null_count() == text.null_count() and (numbers.cast(pl.String) == text).all() else text


def in_order_of(ids: pl.Series, table: pl.DataFrame, id_column: str) -> pl.DataFrame:
    """The rows of the (checked) table in the order of the ids.

    >>> in_order_of(pl.Series([2, 1]), pl.DataFrame({"id": [1, 2], "price": [0.5, 1.5]}), "id").rows()
    [(2, 1.5), (1, 0.5)]
    """
    if table[id_column].equals(ids, check_names=False):
        return table
    places = pl.Series(_places(table[id_column], ids))
    return table.select(pl.lit(ids).alias(id_column), pl.exclude(id_column).gather(places))


def holds_all(found: pl.Series, ids: pl.Series) -> bool:
    """Whether each id is among the values, which have the type of the ids and no gaps.

    >>> holds_all(pl.Series([3, 1, 2]), pl.Series([1, 2])), holds_all(pl.Series(["a"]), pl.Series(["b"]))
    (True, False)
    """
    if (size := _table_size(ids)) is None or _table_size(found) is None:
        return ids.is_in(found.implode()).all()
    values = found.to_numpy()
    is_there = np.zeros(max(size, int(values.max()) + 1), dtype=np.bool_)
    is_there[values] = True
    return bool(is_there[ids.to_numpy()].all())


def _table_size(ids: pl.Series) -> int | None:
    """How long a table is in which ids are looked up by their number; None where they are text, negative or far apart."""
    if ids.dtype != pl.Int64 or not len(ids):
        return None
    low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]  # numbers
    return high + 1 if low >= 0 and high < _SPARSE * len(ids) else None


def _places(found: pl.Series, ids: pl.Series) -> NDArray[Any]:
    """Where each id stands in `found`. Looking numbers up, or two sorts, cost a fraction of a join that keeps an order."""
    rows = np.arange(len(ids), dtype=np.uint32)
    if (size := _table_size(ids)) is not None:
        table = np.empty(size, dtype=rows.dtype)
        table[found.to_numpy()] = rows
        return np.asarray(table[ids.to_numpy()])
    places = np.empty_like(rows)
    places[ids.arg_sort().to_numpy()] = found.arg_sort().to_numpy()
    return places


def rows_of(
    metric: TableMetric,
    solution: pl.DataFrame,
    predictions: pl.DataFrame,
    *,
    targets: Sequence[str],
    schema: TableSchema,
    weight: str | None = None,
    group: str | None = None,
    whole: pl.DataFrame | None = None,
) -> Rows:
    """The arrays of the metric, from two tables whose rows answer each other.

    `whole` is the solution from which classes are counted, where `solution` is a part of it.

    Raises `ScoringInputError` (``bad_reference``) where the solution does not hold what the metric needs.

    >>> from scoring.tables.columns import schema_for
    >>> from scoring.tables.metrics import metric
    >>> solution = pl.DataFrame({"id": [1, 2], "kind": ["cat", "dog"]})
    >>> schema = schema_for(solution, metric("accuracy"), id_column="id", targets=["kind"])
    >>> rows_of(metric("accuracy"), solution, solution, targets=["kind"], schema=schema).truth.tolist()
    [0, 1]
    """
    kind = metric.target.kind
    sources = solution if whole is None else whole
    classes = {name: classes_of(sources[name]) for name in targets} if kind in ("class", "binary") else {}
    truth = _arrays([_array(solution[name], kind, classes.get(name, ())) for name in targets])
    given = [
        _array(predictions[column.name], _KINDS[metric.prediction.kind], column.allowed) for column in schema.columns
    ]
    several = metric.prediction.layout in ("per class", "per level", "per member")
    return Rows(
        truth, _arrays(given, several=several), _weight(solution, weight), _group(solution, group),
        len(classes.get(targets[0], ())),
    )  # fmt: skip


_KINDS: Final[dict[Kind, Kind]] = {
    "number": "number", "positive": "number", "probability": "number", "class": "class", "binary": "class", "text": "text",
}  # fmt: skip


def _arrays(columns: list[NDArray[Any]], *, several: bool = False) -> NDArray[Any]:
    return columns[0] if len(columns) == 1 and not several else np.column_stack(columns)


def _array(column: pl.Series, kind: Kind, allowed: Sequence[Any] = ()) -> NDArray[Any]:
    if kind == "text":
        return column.cast(pl.String).fill_null("").to_numpy()
    if kind == "number":
        values = column.cast(pl.Float64, strict=False)
        if values.null_count() or not values.is_finite().all():
            raise bad_reference(column.name, "it holds something else than finite numbers")
        return values.to_numpy()
    return _codes(column, allowed)


def _codes(column: pl.Series, classes: Sequence[Any]) -> NDArray[np.int64]:
    kind = pl.Int64 if isinstance(classes[0], int) else pl.String
    codes = column.cast(kind).replace_strict(
        pl.Series(classes, dtype=kind), range(len(classes)), default=None, return_dtype=pl.Int64
    )
    if codes.null_count():
        raise bad_reference(column.name, "a class is missing")
    return codes.to_numpy()


def _weight(solution: pl.DataFrame, name: str | None) -> Any:
    return None if name is None else _array(require_column(solution, name), "number")


def _group(solution: pl.DataFrame, name: str | None) -> Any:
    return (
        None
        if name is None
        else (require_column(solution, name).rank("dense").fill_null(0).to_numpy().astype(np.int64))
    )


def bad_reference(where: str, what: str) -> ScoringInputError:
    """The error of a solution that cannot be used.

    >>> str(bad_reference("price", "a value is missing"))
    "the solution, column 'price': a value is missing; mend the solution."
    """
    return ScoringInputError("bad_reference", f"the solution, column {where!a}", what, "mend the solution")

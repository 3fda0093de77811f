"""Aligning a solution and a team's table: the same ids in the same order, as arrays."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scoring.errors import ScoringInputError
from scoring.metrics.metric import Kind, Metric, Rows
from scoring.tables.columns import as_booleans, distinct_classes, require_column
from scoring.tables.reading.file_types import join_values
from scoring.tables.reading.files import SHOWN, Place, name_repeats, row_number
from scoring.tables.schema import TableSchema

Places: TypeAlias = NDArray[np.uint32]
"""Of each row of one table the row of another one that has the same id."""

_STEP: Final = 1 << 20
_SPARSE: Final = 4  # numbers within this many times as many as there are rows are looked up in a table


def read_ids(table: pl.DataFrame, id_column: str, place: Place = row_number) -> pl.Series:
    """The ids, as whole numbers where all are, else as text.

    Raises `ScoringInputError` (``missing_column``, ``nan``, ``duplicate_ids``); `place` says where a row stands.

    >>> read_ids(pl.DataFrame({"id": ["7", "8"]}), "id").to_list(), read_ids(pl.DataFrame({"id": ["07", "8"]}), "id").to_list()
    ([7, 8], ['07', '8'])
    """
    ids = normalize_ids(require_column(table, id_column))
    if ids.null_count():
        rows = ids.is_null().arg_true()
        what = f"it is empty in {join_values([place(row) for row in rows.head(SHOWN)], total=len(rows))}"
        raise ScoringInputError("nan", ascii(id_column), what, "give each row an id of its own")
    if _has_repeats(ids):
        what = name_repeats(ids, place)
        raise ScoringInputError("duplicate_ids", ascii(id_column), what, "give each row an id of its own")
    return ids


def normalize_ids(column: pl.Series) -> pl.Series:
    """The values as whole numbers where each reads as it is written, else as text.

    >>> normalize_ids(pl.Series([1.0, 2.0])).to_list(), normalize_ids(pl.Series(["a", "1"])).to_list()
    ([1, 2], ['a', '1'])
    """
    if column.dtype.is_float():
        column = column.fill_nan(None)  # as numpy writes an empty cell
    if column.dtype.is_integer() or column.dtype.is_float():
        numbers = column.cast(pl.Int64, strict=False)  # null where it is infinite or has more than 64 bits
        is_whole = column.dtype.is_integer() or (column == column.floor()).all()
        return numbers if is_whole and numbers.null_count() == column.null_count() else column.cast(pl.String)
    text = column.cast(pl.String)
    numbers = text.cast(pl.Int64, strict=False)
    return numbers if numbers.null_count() == text.null_count() and (numbers.cast(pl.String) == text).all() else text


def find_places(values: pl.Series, ids: pl.Series) -> Places | None:
    """The row of `ids` (each there once) of each value; None unless both hold the same ids.

    >>> find_places(pl.Series([3, 1, 2]), pl.Series([1, 2, 3])).tolist(), find_places(pl.Series(["a"]), pl.Series(["b"]))
    ([2, 0, 1], None)
    >>> find_places(pl.Series([1, 1]), pl.Series([1, 2])) is None
    True
    """
    if len(values) != len(ids) or values.dtype != ids.dtype or values.null_count():
        return None
    if not len(ids):
        return np.empty(0, dtype=np.uint32)
    return _find_number_places(values, ids) if _are_close(ids) else _find_places_by_sorting(values, ids)


def reorder(table: pl.DataFrame, places: Places, ids: pl.Series, id_column: str) -> pl.DataFrame:
    """The rows of a table in the order of the ids, by places of `find_places`. It uses the table up.

    >>> table = pl.DataFrame({"id": [1, 2], "price": [0.5, 1.5]})
    >>> reorder(table, np.array([1, 0], dtype=np.uint32), pl.Series([2, 1]), "id").rows()
    [(2, 1.5), (1, 0.5)]
    """
    names = table.columns
    table.drop_in_place(id_column)  # a column goes as soon as it is ordered: two copies of a large table would be much
    columns = {name: _reorder_column(table.drop_in_place(name), places) for name in names if name != id_column}
    columns[id_column] = ids.alias(id_column)
    return pl.DataFrame([columns[name] for name in names])


def _are_close(ids: pl.Series) -> bool:
    """True where they are numbers that lie close enough together to be looked up in a table."""
    return ids.dtype == pl.Int64 and int(ids.max()) - int(ids.min()) < _SPARSE * len(ids)  # type: ignore[arg-type]  # numbers


def _slices(column: pl.Series) -> Iterator[tuple[slice, NDArray[Any]]]:
    """The values a million at a time: a column in parts would be copied as one array."""
    for first in range(0, len(column), _STEP):
        part = column.slice(first, _STEP).to_numpy()
        yield slice(first, first + len(part)), part


def _has_repeats(ids: pl.Series) -> bool:
    if not len(ids) or not _are_close(ids):
        return ids.n_unique() < len(ids)
    low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]  # numbers
    is_there = np.zeros(high - low + 1, dtype=np.bool_)  # a set of all of them would take more memory than they do
    for _, part in _slices(ids):
        is_there[part - low] = True
    return int(np.count_nonzero(is_there)) < len(ids)


def _find_number_places(values: pl.Series, ids: pl.Series) -> Places | None:
    """Places of numbers, without join and sort.

    A number says itself where it belongs, through a table where the ids are not all in a row.
    """
    low, high = int(ids.min()), int(ids.max())  # type: ignore[arg-type]  # numbers
    if values.min() != low or values.max() != high:
        return None
    is_plain = high - low + 1 == len(ids) and ids.is_sorted()
    table = None if is_plain else _row_by_number(ids, low, high)
    places = np.empty(len(ids), dtype=np.uint32)
    is_there = np.zeros(len(ids), dtype=np.bool_)
    for rows, part in _slices(values):
        part_places = part - low if table is None else table[part - low]
        if part_places.min() < 0:
            return None
        places[rows] = part_places
        is_there[part_places] = True
    return places if is_there.all() else None


def _row_by_number(ids: pl.Series, low: int, high: int) -> NDArray[np.int32]:
    """The row of the ids for each number from `low` to `high`; -1 where there is none."""
    table = np.full(high - low + 1, -1, dtype=np.int32)  # two thousand million rows are more than a table may hold
    for rows, part in _slices(ids):
        table[part - low] = np.arange(rows.start, rows.stop)
    return table


def _find_places_by_sorting(values: pl.Series, ids: pl.Series) -> Places | None:
    """Two sorts cost a fraction of a join that keeps an order."""
    value_order, order = values.arg_sort(), ids.arg_sort()
    if not values.gather(value_order).equals(ids.gather(order), check_names=False):
        return None
    places = np.empty(len(ids), dtype=np.uint32)
    places[value_order.to_numpy()] = order.to_numpy()
    return places


def _reorder_column(column: pl.Series, places: Places) -> pl.Series:
    """The column with each value at its place."""
    if column.dtype.is_numeric() and not column.null_count():
        moved = np.empty(len(places), dtype=column.head(0).to_numpy().dtype)
        for rows, part in _slices(column):
            np.put(moved, places[rows], part)
        return pl.Series(column.name, moved)
    origins = np.empty_like(places)
    origins[places] = np.arange(len(places), dtype=origins.dtype)
    return column.gather(pl.Series(origins))


def metric_rows(
    metric: Metric,
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
    >>> from scoring.metrics import metric
    >>> solution = pl.DataFrame({"id": [1, 2], "kind": ["cat", "dog"]})
    >>> schema = schema_for(solution, metric("accuracy"), id_column="id", targets=["kind"])
    >>> metric_rows(metric("accuracy"), solution, solution, targets=["kind"], schema=schema).truth.tolist()
    [0, 1]
    """
    kind = metric.target.kind
    sources = solution if whole is None else whole
    classes = {name: distinct_classes(sources[name]) for name in targets} if kind in ("class", "binary") else {}
    truth = _arrays([_array(solution[name], kind, classes.get(name, ())) for name in targets])
    given = [
        _array(predictions[column.name], _KINDS[metric.prediction.kind], column.allowed) for column in schema.columns
    ]
    several = metric.prediction.layout in ("per class", "per level", "per member")
    return Rows(
        truth,
        _arrays(given, several=several),
        None if weight is None else _array(require_column(solution, weight), "number"),
        _group(solution, group),
        len(classes.get(targets[0], ())),
    )


_KINDS: Final[dict[Kind, Kind]] = {
    "number": "number",
    "positive": "number",
    "probability": "number",
    "class": "class",
    "binary": "class",
    "text": "text",
}


def _arrays(columns: list[NDArray[Any]], *, several: bool = False) -> NDArray[Any]:
    return columns[0] if len(columns) == 1 and not several else np.column_stack(columns)


def _array(column: pl.Series, kind: Kind, allowed: Sequence[Any] = ()) -> NDArray[Any]:
    if kind == "text":
        return column.cast(pl.String).fill_null("").to_numpy()
    if kind == "number":
        booleans = as_booleans(column)
        values = (column if booleans is None else booleans).cast(pl.Float64, strict=False)
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


def _group(solution: pl.DataFrame, name: str | None) -> Any:
    return (
        None
        if name is None
        else (require_column(solution, name).rank("dense").fill_null(0).to_numpy().astype(np.int64))
    )


def bad_reference(where: str, what: str) -> ScoringInputError:
    """The error of a solution that cannot be used.

    >>> str(bad_reference("price", "a value is missing"))
    "the solution, column 'price': a value is missing; fix the solution."
    """
    return ScoringInputError("bad_reference", f"the solution, column {where!a}", what, "fix the solution")

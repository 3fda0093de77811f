"""The columns of a solution, and those that a team predicts for a metric."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.metrics.metric import Kind, Metric, Parameters
from scoring.tables.choices import prediction_names
from scoring.tables.reading.file_types import join_values
from scoring.tables.schema import Column, TableSchema, Value

LEAST: Final = 1e-9
"""The smallest prediction where one has to be above 0."""


def schema_for(
    solution: pl.DataFrame,
    metric: Metric,
    *,
    id_column: str,
    targets: Sequence[str],
    parameters: Parameters | None = None,
) -> TableSchema:
    """The schema of a team's table for this metric of these targets.

    Raises `ScoringInputError` where the solution lacks a column or holds too many classes.

    >>> from scoring.metrics import METRICS
    >>> solution = pl.DataFrame({"id": [1, 2], "price": [1.5, 2.5]})
    >>> schema_for(solution, METRICS["rmse"], id_column="id", targets=["price"]).names
    ('id', 'price')
    """
    for name in (id_column, *targets):
        require_column(solution, name)
    is_per_class = metric.prediction.layout == "per class"
    classes = distinct_classes(solution[targets[0]]) if is_per_class else ()
    names = prediction_names(metric, tuple(targets), metric.settings(parameters or {}), classes)
    columns = _predicted(metric, solution, names)
    return TableSchema(id_column, columns, rows=solution.height, probabilities=(names,) if is_per_class else ())


def schema_like(table: pl.DataFrame, id_column: str) -> TableSchema:
    """A schema with the table's own columns: numbers or texts; cells may be empty where some are.

    >>> schema_like(pl.DataFrame({"id": [1], "price": [2.5]}), "id").names
    ('id', 'price')
    """
    columns = tuple(
        Column(column.name, "number" if column.dtype.is_numeric() else "text", missing=_has_empty_cells(column))
        for column in table
        if column.name != id_column
    )
    return TableSchema(id_column, columns, rows=table.height or None)


def _has_empty_cells(column: pl.Series) -> bool:
    return bool(column.null_count()) or (column.dtype == pl.String and bool((column == "").any()))


def require_column(table: pl.DataFrame, name: str) -> pl.Series:
    """The column; `ScoringInputError` (``missing_column``) where there is none.

    >>> require_column(pl.DataFrame({"id": [1]}), "price")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: 'price': there is no such column; use one of id.
    """
    if name not in table.columns:
        raise ScoringInputError(
            "missing_column", ascii(name), "there is no such column", f"use one of {join_values(table.columns)}"
        )
    return table[name]


def as_booleans(column: pl.Series) -> pl.Series | None:
    """The column as Boolean where it holds true and false alone, in any case; else None.

    >>> as_booleans(pl.Series(["True", "FALSE", None])).to_list(), as_booleans(pl.Series(["true", "1"]))
    ([True, False, None], None)
    """
    if column.dtype != pl.String:
        return column if column.dtype == pl.Boolean else None
    if not is_boolean_word(column.drop_nulls().head(1)).any():
        return None
    return column.str.to_lowercase() == "true" if is_boolean_word(column.drop_nulls()).all() else None


def is_boolean_word(texts: pl.Series) -> pl.Series:
    """True for each text that is true or false, written in any case.

    >>> is_boolean_word(pl.Series(["True", "no"])).to_list()
    [True, False]
    """
    return texts.str.to_lowercase().is_in(["true", "false"])


def distinct_classes(column: pl.Series) -> tuple[Value, ...]:
    """The classes of a target in order: whole numbers as such, all else as text.

    0 and 1 are both there if one is.

    >>> distinct_classes(pl.Series("c", [2.0, 1.0])), distinct_classes(pl.Series("c", [1, 1])), distinct_classes(pl.Series("c", ["b", "a"]))
    ((1, 2), (0, 1), ('a', 'b'))
    """
    values, right = column.drop_nulls(), "choose another metric or column"
    if values.dtype.is_numeric():
        if values.dtype.is_float() and not (values == values.floor()).all():
            what = "it holds fractions, so it is not a class"
            raise ScoringInputError("wrong_type", ascii(column.name), what, right)
        numbers = values.unique().cast(pl.Int64, strict=False)
        if numbers.null_count():
            what = "it holds NaN, infinity or numbers of more than 64 bits, so it is not a class"
            raise ScoringInputError("wrong_type", ascii(column.name), what, right)
        whole = set(numbers.to_list())
        return tuple(sorted(whole | {0, 1} if whole <= {0, 1} else whole))
    return tuple(sorted(values.unique().cast(pl.String).to_list()))


def _predicted(metric: Metric, solution: pl.DataFrame, names: Sequence[str]) -> tuple[Column, ...]:
    layout, kind, roles = metric.prediction.layout, metric.prediction.kind, metric.prediction.roles
    if layout == "same":
        return tuple(_column(kind, name, solution[name]) for name in names)
    if layout == "per class":
        return tuple(Column(name, minimum=0.0, maximum=1.0) for name in names)
    if layout == "named":
        least = {"sd": LEAST}
        return tuple(Column(name, minimum=least.get(role)) for role, name in zip(roles, names, strict=True))
    return tuple(map(Column, names))  # one for each level or member


def _column(kind: Kind, name: str, truth: pl.Series) -> Column:
    if kind == "text":
        return Column(name, "text", missing=True)  # an empty cell is an empty text
    if kind == "probability":
        return Column(name, minimum=0.0, maximum=1.0)
    if kind in ("number", "positive"):
        return Column(name, minimum=LEAST if kind == "positive" else None)
    classes = distinct_classes(truth)
    return Column(name, "integer" if isinstance(classes[0], int) else "text", allowed=classes, missing="" in classes)

"""Metrics that fit the columns of a solution, and the columns that a team predicts for a metric."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Kind, Metric, Naming, Parameters, Settings
from scoring.tables.reading.delimited import name_on_one_line
from scoring.tables.reading.file_types import join_values
from scoring.tables.recognise import MAX_CLASSES, ColumnPreview, Pattern, TablePreview
from scoring.tables.schema import Column, TableSchema, Value

LEAST: Final = 1e-9
"""The smallest prediction where one has to be above 0."""

_LIKELY: Final[dict[str, tuple[str, ...]]] = {
    "binary": ("binary", "multi-class"),
    "class": ("multi-class",),
    "count": ("counts", "regression"),
    "number": ("regression",),
}
_LIKELY_OF_TEXTS: Final[dict[Pattern, tuple[str, ...]]] = {
    "run lengths": ("segmentation",),
    "boxes": ("detection",),
    "": ("text", "ranking and retrieval"),
}


def metrics_for(preview: TablePreview, targets: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics that these target columns allow, the likeliest first.

    Raises `ScoringInputError` (``missing_column``) for a target that the table does not have.

    >>> from pathlib import Path
    >>> from scoring.tables.reading.files import Source
    >>> from scoring.tables.recognise import preview_table
    >>> preview = preview_table(pl.DataFrame({"id": [1, 2, 3], "price": [2.5, 3.5, 7.5]}), Source(Path("s.csv"), "csv"))
    >>> [metric.name for metric in metrics_for(preview, ["price"])][:2]
    ['rmse', 'mae']
    """
    known = {column.name for column in preview.columns}
    absent = [name for name in targets if name not in known]
    if absent or not targets:
        raise ScoringInputError(
            "missing_column",
            "targets",
            f"{join_values(absent) or 'no column'} is named",
            f"choose from {join_values(sorted(known))}",
        )
    columns = [preview.column(name) for name in targets]
    likely = _likely_groups(columns)
    fitting = [metric for metric in METRICS.values() if _fits(metric, columns)]
    return tuple(
        sorted(fitting, key=lambda metric: likely.index(metric.group) if metric.group in likely else len(likely))
    )


def _likely_groups(columns: Sequence[ColumnPreview]) -> tuple[str, ...]:
    if len(columns) > 1:
        named_places = columns[0].name.lower().startswith("lat")
        numbers = ("spatial", "regression") if named_places else ("regression", "time series")
        return ("survival", "multi-label") if columns[-1].kind == "binary" else numbers
    if columns[0].type != "text" or columns[0].kind in ("binary", "class"):
        return _LIKELY.get(columns[0].kind, ("regression",))
    return _LIKELY_OF_TEXTS[columns[0].pattern]


def _fits(metric: Metric, columns: Sequence[ColumnPreview]) -> bool:
    target = metric.target
    if target.several:
        return len(columns) > 1 and all(_is_kind(target.kind, column) for column in columns)
    if len(columns) != len(target.roles):
        return False
    return all(
        _is_kind(target.kind, column) and _plays(role, column)
        for role, column in zip(target.roles, columns, strict=True)
    )


def _is_kind(kind: Kind, column: ColumnPreview) -> bool:
    rules: dict[str, Callable[[], bool]] = {
        "number": lambda: column.type != "text",
        "binary": lambda: column.kind == "binary",
        "class": lambda: 1 < column.distinct <= MAX_CLASSES and column.type != "number",
        "text": lambda: column.type == "text",
    }
    return rules[kind]()


def _plays(role: str, column: ColumnPreview) -> bool:
    """True where the column's values can be what the role says."""
    low, high = column.minimum, column.maximum
    if low is None or high is None:
        return role == "target"
    limits = {
        "latitude": (-90.0, 90.0),
        "longitude": (-180.0, 360.0),
        "event": (0.0, 1.0),
        "time": (0.0, None),
        "scale": (0.0, None),
    }
    lowest, highest = limits.get(role, (None, None))
    return (lowest is None or low >= lowest) and (highest is None or high <= highest)


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

    >>> solution = pl.DataFrame({"id": [1, 2], "price": [1.5, 2.5]})
    >>> schema_for(solution, METRICS["rmse"], id_column="id", targets=["price"]).names
    ('id', 'price')
    """
    for name in (id_column, *targets):
        require_column(solution, name)
    settings = metric.settings(parameters or {})
    columns = tuple(_COLUMNS[metric.prediction.layout](_Asked(metric, solution, tuple(targets), settings)))
    groups = (tuple(column.name for column in columns),) if metric.prediction.layout == "per class" else ()
    return TableSchema(id_column, columns, rows=solution.height, probabilities=groups)


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
    values = column.drop_nulls()
    if values.dtype.is_numeric():
        if values.dtype.is_float() and not (values == values.floor()).all():
            raise ScoringInputError(
                "wrong_type",
                ascii(column.name),
                "it holds fractions, so it is no class",
                "choose another metric or column",
            )
        numbers = values.unique().cast(pl.Int64, strict=False)
        if numbers.null_count():
            raise ScoringInputError(
                "wrong_type",
                ascii(column.name),
                "it holds NaN, infinity or numbers of more than 64 bits, so it is no class",
                "choose another metric or column",
            )
        whole = set(numbers.to_list())
        return tuple(sorted(whole | {0, 1} if whole <= {0, 1} else whole))
    return tuple(sorted(values.unique().cast(pl.String).to_list()))


@dataclass(frozen=True)
class _Asked:
    """The metric and the solution that a team's columns follow from."""

    metric: Metric
    solution: pl.DataFrame
    targets: tuple[str, ...]
    settings: Settings

    @property
    def names(self) -> tuple[str, ...]:
        is_per_class = self.metric.prediction.layout == "per class"
        classes = distinct_classes(self.solution[self.targets[0]]) if is_per_class else ()
        return prediction_names(self.metric, self.targets, self.settings, classes)


def prediction_names(
    metric: Metric, targets: Sequence[str], settings: Settings, classes: Sequence[Value]
) -> tuple[str, ...]:
    """The columns that a team predicts; `classes` are those of the first target, in their order.

    Columns of classes are called as they are, behind the target's name where a class is a number. One role of the target
    itself has that target's name.

    >>> prediction_names(METRICS["class_log_loss"], ["kind"], {}, [0, 1])
    ('kind_0', 'kind_1')
    """
    first = targets[0]
    layout = metric.prediction.layout
    if layout == "per class":
        return tuple(
            f"{first}_{value}" if isinstance(value, int) else name_on_one_line(str(value)) for value in classes
        )
    if layout == "per level":
        return tuple(f"{first}_q{level:g}" for level in settings["levels"])
    if layout == "per member":
        return tuple(f"{first}_{member}" for member in range(1, settings["members"] + 1))
    if layout == "named":
        of_roles = dict(zip(metric.target.roles, targets, strict=True))
        return tuple(of_roles.get(role, f"{first}_{role}") for role in metric.prediction.roles)
    return tuple(targets)


def _same(request: _Asked) -> Iterator[Column]:
    return (_column(request.metric.prediction.kind, name, request.solution[name]) for name in request.names)


def _per_class(request: _Asked) -> Iterator[Column]:
    return (Column(name, minimum=0.0, maximum=1.0) for name in request.names)


def _plain(request: _Asked) -> Iterator[Column]:
    return map(Column, request.names)


def _by_role(request: _Asked) -> Iterator[Column]:
    for role, name in zip(request.metric.prediction.roles, request.names, strict=True):
        yield Column(name, minimum=LEAST if role == "sd" else None)


_COLUMNS: Final[dict[Naming, Callable[[_Asked], Iterator[Column]]]] = {
    "same": _same,
    "per class": _per_class,
    "per level": _plain,
    "per member": _plain,
    "named": _by_role,
}


def _column(kind: Kind, name: str, truth: pl.Series) -> Column:
    if kind == "text":
        return Column(name, "text", missing=True)  # an empty cell is an empty text
    if kind == "probability":
        return Column(name, minimum=0.0, maximum=1.0)
    if kind in ("number", "positive"):
        return Column(name, minimum=LEAST if kind == "positive" else None)
    classes = distinct_classes(truth)
    return Column(name, "integer" if isinstance(classes[0], int) else "text", allowed=classes, missing="" in classes)

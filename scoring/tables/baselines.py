"""Tables to begin with: the sample submission, and the best constant as a baseline."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from scoring.metrics.metric import Floats, Metric, Parameters, Settings
from scoring.tables.align import read_ids
from scoring.tables.columns import LEAST, as_booleans, distinct_classes, schema_for
from scoring.tables.schema import Column, TableSchema, Value, name_on_one_line

_SOME_DAY: Final = datetime(2000, 1, 1)  # noqa: DTZ001  # a date as tables have them
_BY_MEDIAN: Final = (
    "mae",
    "median_absolute_error",
    "mape",
    "smape",
    "wape",
    "mean_column_mae",
    "mase",
    "huber_loss",
    "log_cosh_loss",
    "concordance_index",
)


def sample_submission(solution: pl.DataFrame, schema: TableSchema) -> pl.DataFrame:
    """A valid table that knows nothing: zeros, the first class, equal probabilities, a word or a date.

    >>> sample_submission(pl.DataFrame({"id": [1], "price": [9.5]}), TableSchema("id", (Column("price"),))).rows()
    [(1, 0.0)]
    """
    equal = {name: 1 / len(group) for group in schema.probabilities for name in group}
    values = {column.name: equal.get(column.name, _neutral(column, solution)) for column in schema.columns}
    return _constant(solution, schema, values)


def _neutral(column: Column, solution: pl.DataFrame) -> Value:
    if column.allowed:
        return next((value for value in column.allowed if value != ""), column.allowed[0])
    if column.type == "text":
        return "" if column.missing else _neutral_text(solution, column.name)
    low, high = column.minimum, column.maximum
    if low == 0 and high == 1 and column.type == "number":
        return 0.5
    value = 0 if low is None or low <= 0 else max(1, low)
    value = min(value, high) if high is not None else value
    return float(value) if column.type == "number" else int(value)


def _neutral_text(solution: pl.DataFrame, name: str) -> str:
    """A text of the target's kind that tells none of its values."""
    truth = solution[name] if name in solution.columns else pl.Series([], dtype=pl.String)
    if as_booleans(truth) is not None:
        return "False"
    if truth.dtype.is_temporal():
        return str(pl.Series([_SOME_DAY]).cast(truth.dtype).cast(pl.String)[0])
    is_dated = truth.dtype == pl.String and truth.len() and truth.drop_nulls().str.contains(r"^\d{4}-\d\d-\d\d").all()
    return f"{_SOME_DAY:%Y-%m-%d}" if is_dated else "text"


def _constant(solution: pl.DataFrame, schema: TableSchema, values: dict[str, Value]) -> pl.DataFrame:
    ids = read_ids(solution, schema.id_column).alias(schema.id_column)
    return pl.DataFrame([ids]).with_columns(pl.lit(value).alias(name) for name, value in values.items())


def constant_baseline(
    solution: pl.DataFrame,
    metric: Metric,
    *,
    id_column: str,
    targets: Sequence[str],
    parameters: Parameters | None = None,
    train: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The constant that suits the metric, one row for each of the solution's ids.

    The mean, the median or a quantile; the most frequent class, or the shares of the classes; the most frequent items.
    It is learnt from `train` where that has the target columns; else from the solution, which tells its mean to
    whoever reads the table: do that only where the baseline stays with the organizers.

    >>> from scoring.metrics import metric
    >>> solution = pl.DataFrame({"id": [1, 2], "price": [2.0, 3.0]})
    >>> constant_baseline(solution, metric("mae"), id_column="id", targets=["price"]).rows()
    [(1, 2.5), (2, 2.5)]
    """
    schema = schema_for(solution, metric, id_column=id_column, targets=targets, parameters=parameters)
    known = train if train is not None and set(targets) <= set(train.columns) else solution
    learning = _Learning(metric, known, tuple(targets), metric.settings(parameters or {}), schema)
    return _constant(solution, schema, _LEARNERS[metric.prediction.kind](learning))


@dataclass(frozen=True)
class _Learning:
    """The data from which a constant is learnt."""

    metric: Metric
    known: pl.DataFrame
    targets: tuple[str, ...]
    settings: Settings
    schema: TableSchema

    @property
    def first(self) -> pl.Series:
        """The (first) target column."""
        return self.known[self.targets[0]]


Constants = dict[str, Value]


def _shares(about: _Learning) -> Constants:
    """The share of the ones in each column, or of each class."""
    if about.metric.prediction.layout == "same":
        return {name: _share(about.known[name], distinct_classes(about.known[name])[-1]) for name in about.targets}
    shares = {name_on_one_line(str(value)): _share(about.first, value) for value in distinct_classes(about.first)}
    prefix = f"{about.targets[0]}_"
    names = [column.name for column in about.schema.columns]
    given = {name: shares.get(name.removeprefix(prefix), shares.get(name, 0.0)) for name in names}
    return {name: value / sum(given.values()) for name, value in given.items()}


def _share(column: pl.Series, value: Value) -> float:
    values = column.drop_nulls().cast(pl.String if isinstance(value, str) else pl.Float64)
    return float((values == value).sum()) / max(len(values), 1)


def _most_frequent(about: _Learning) -> Constants:
    allowed = {column.name: column.allowed for column in about.schema.columns}
    return {name: max(allowed[name], key=partial(_share, about.known[name])) for name in about.targets}


def _texts(about: _Learning) -> Constants:
    """The most frequent items of lists, the most frequent text, one cluster, no mask and no box."""
    values = about.first.drop_nulls().cast(pl.String).to_list()
    text = ""
    if about.metric.group == "ranking and retrieval":
        counts = Counter(item for value in values for item in value.split())
        text = " ".join(item for item, _ in counts.most_common(about.settings["k"]))
    elif about.metric.group == "clustering":
        text = "0"
    elif about.metric.group == "text" and values:
        text = Counter(values).most_common(1)[0][0]
    return {about.targets[0]: text}


def _numbers(about: _Learning) -> Constants:
    if about.metric.target.kind == "binary":
        return _shares(about)
    if about.metric.prediction.layout == "same":
        return {name: _centre(about, _finite(about.known[name])) for name in about.targets}
    names = (column.name for column in about.schema.columns)
    return dict(zip(names, _spread(about, _finite(about.first)), strict=True))


def _finite(column: pl.Series) -> Floats:
    values = column.cast(pl.Float64, strict=False).drop_nulls()
    return values.filter(values.is_finite()).to_numpy()


def _centre(about: _Learning, values: Floats) -> float:
    if "level" in about.settings:
        return float(np.quantile(values, about.settings["level"]))
    if about.metric.name == "rmsle":
        return float(np.expm1(np.log1p(values[values > -1]).mean()))  # training data may hold others
    centre = float(np.median(values) if about.metric.name in _BY_MEDIAN else np.mean(values))
    return max(centre, LEAST) if about.metric.prediction.kind == "positive" else centre


def _spread(about: _Learning, values: Floats) -> list[float]:
    """The values of several columns: quantiles, an interval, members, mean and deviation, or one centre."""
    if about.metric.prediction.roles == ("mean", "sd"):
        return [float(values.mean()), max(float(values.std()), LEAST)]
    levels = _levels(about.settings)
    return [float(np.quantile(values, level)) for level in levels] if levels else [_centre(about, values)]


def _levels(settings: Settings) -> list[float]:
    if "levels" in settings:
        return list(settings["levels"])
    if "alpha" in settings:
        return [settings["alpha"] / 2, 1 - settings["alpha"] / 2]
    return [(member + 0.5) / settings["members"] for member in range(settings.get("members", 0))]


_LEARNERS: Final[dict[str, Callable[[_Learning], Constants]]] = {
    "number": _numbers,
    "positive": _numbers,
    "probability": _shares,
    "class": _most_frequent,
    "binary": _most_frequent,
    "text": _texts,
}

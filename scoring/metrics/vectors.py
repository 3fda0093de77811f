"""The rows of a metric from two arrays of one number a row."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from scoring.arrays import (
    AnyArray,
    is_labelled,
    numeric,
    require_finite,
    require_ndim,
    require_rows,
    require_same_shape,
    take,
)
from scoring.errors import ScoringInputError
from scoring.metrics.metric import Kind, Metric, Rows

_BOUNDS: Final[dict[Kind, tuple[float, float]]] = {
    "positive": (np.nextafter(0.0, 1.0), np.inf),
    "probability": (0.0, 1.0),
}


def rows_from_vectors(metric: Metric, inputs: Mapping[str, object]) -> Rows:
    """The labelled rows of the arrays ``y_true`` and ``y_pred``; NaN in ``y_true`` means "not labelled".

    Raises `ScoringInputError` for unequal lengths, not one-dimensional, no rows, no label, NaN or infinite predictions,
    fractions where the metric compares classes, labels other than 0 and 1 where it has two.

    >>> from scoring.metrics import metric
    >>> rows_from_vectors(metric("accuracy"), {"y_true": [7, 9], "y_pred": [9, 9]}).truth.tolist()
    [0, 1]
    """
    truth, prediction = (numeric(take(inputs, name), name) for name in ("y_true", "y_pred"))
    require_ndim(truth, "y_true", 1, "one number per sample")
    require_same_shape(truth, prediction, ("y_true", "y_pred"))
    require_rows(truth, "y_true")
    chosen = is_labelled(truth)
    if not chosen.any():
        raise ScoringInputError("no_labelled_rows", "y_true", "every label is NaN", "give at least one label")
    truth, prediction = truth[chosen], prediction[chosen]
    for values, name, kind in ((truth, "y_true", metric.target.kind), (prediction, "y_pred", metric.prediction.kind)):
        _require_kind(values, name, kind)
    if metric.target.kind != "class":
        return Rows(truth.astype(np.float64), prediction.astype(np.float64))
    classes, codes = np.unique(np.concatenate([truth, prediction]), return_inverse=True)
    return Rows(codes[: len(truth)], codes[len(truth) :], classes=len(classes))


def _require_kind(values: AnyArray, name: str, kind: Kind) -> None:
    require_finite(values, name)
    if kind == "class" and values.dtype.kind == "f" and not np.all(values == np.trunc(values)):
        raise ScoringInputError("out_of_range", name, "it holds fractions", "give whole class numbers")
    if kind == "binary" and not np.isin(values, (0, 1)).all():
        raise ScoringInputError("not_binary", name, "it holds values other than 0 and 1", "use 0 and 1 alone")
    low, high = _BOUNDS.get(kind, (-np.inf, np.inf))
    if values.min() < low or values.max() > high:
        right = "give probabilities from 0 to 1" if kind == "probability" else "give numbers above 0"
        raise ScoringInputError("out_of_range", name, "a value is outside the range of this metric", right)

"""Metrics of forecasts of many series: errors scaled by how hard each series is."""

from typing import Any, Final

import numpy as np

from scoring.metrics.metric import Prediction, Rows, Subject, Target, no_value

_ABSOLUTE: Final = (
    "Errors over the scale column: each series' mean absolute difference of neighbours (or of one season) in the "
    "training data."
)
_SQUARED: Final = (
    "Mean over the series (groups); the scale column is each series' mean squared difference of neighbours in the "
    "training data."
)
FORECASTS: Final = Subject(
    group="time series",
    direction="min",
    range=(0.0, None),
    target=Target("number", ("value", "scale")),
    prediction=Prediction("number", "named", ("value",)),
    perfect=0.0,
)


def _parts(rows: Rows) -> tuple[Any, Any, Any]:
    truth, scale = rows.truth.T
    if not np.all(scale > 0):
        raise no_value("a scale is 0 or below", "leave such series out")
    return truth, scale, rows.prediction if rows.prediction.ndim == 1 else rows.prediction[:, 0]


@FORECASTS.mean(
    "mase", "Mean absolute scaled error", "Hyndman & Koehler (2006), Int. J. Forecasting 22(4)", help=_ABSOLUTE
)
def scaled_errors(rows: Rows) -> Any:
    """Absolute differences over the scale column.

    >>> rows = Rows(np.array([[5.0, 2.0], [7.0, 2.0]]), np.array([4.0, 7.0]), group=np.array([0, 0]))
    >>> scaled_errors(rows).round(4).tolist()
    [0.5, 0.0]
    """
    truth, scale, prediction = _parts(rows)
    return np.abs(truth - prediction) / scale


@FORECASTS.whole(
    "rmsse",
    "Root mean squared scaled error",
    "Makridakis et al. (2022), The M5 competition, Int. J. Forecasting 38(4)",
    help=_SQUARED,
    needs_group=True,
    words="wrmsse m5",
)
def root_scaled_error(rows: Rows) -> float:
    """Mean over the series of the root of the scaled mean squared difference.

    A series weighs as its rows on average.

    >>> rows = Rows(np.array([[5.0, 2.0], [7.0, 2.0]]), np.array([4.0, 7.0]), group=np.array([0, 0]))
    >>> round(root_scaled_error(rows), 4)
    0.5
    """
    parts = rows.by_group()
    roots = [float(np.sqrt(np.mean(_squared_errors(part)))) for part in parts]
    weights = None if rows.weight is None else [float(np.mean(part.weight)) for part in parts]  # type: ignore[arg-type]  # as the rows
    return float(np.average(roots, weights=weights))


def _squared_errors(part: Rows) -> Any:
    truth, scale, prediction = _parts(part)
    return (truth - prediction) ** 2 / scale

"""Metrics of forecasts of many series: errors scaled by how hard each series is."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from scoring.tables.metrics.base import Prediction, Rows, TableMetric, Target, groups_of, undefined

_SCALED: Final = Target("number", ("value", "scale"))
_NUMBER: Final = Prediction("number", "named", ("value",))


def _parts(rows: Rows) -> tuple[Any, Any, Any]:
    truth, scale = rows.truth.T
    if not np.all(scale > 0):
        raise undefined("a scale is 0 or below", "leave such series out")
    return truth, scale, rows.prediction if rows.prediction.ndim == 1 else rows.prediction[:, 0]


def scaled_errors(rows: Rows) -> Any:
    """Absolute differences over the row's scale.

    >>> rows = Rows(np.array([[5.0, 2.0], [7.0, 2.0]]), np.array([4.0, 7.0]), group=np.array([0, 0]))
    >>> scaled_errors(rows).round(4).tolist()
    [0.5, 0.0]
    """
    truth, scale, prediction = _parts(rows)
    return np.abs(truth - prediction) / scale


def root_scaled_error(rows: Rows) -> float:
    """Mean over the series of the root of the mean squared difference over the scale, weighted by the series' weight.

    >>> rows = Rows(np.array([[5.0, 2.0], [7.0, 2.0]]), np.array([4.0, 7.0]), group=np.array([0, 0]))
    >>> round(root_scaled_error(rows), 4)
    0.5
    """
    parts = groups_of(rows)
    roots = [float(np.sqrt(np.mean(_squared(part)))) for part in parts]
    weights = None if rows.weight is None else [float(np.mean(part.weight)) for part in parts]  # type: ignore[arg-type]  # as the rows
    return float(np.average(roots, weights=weights))


def _squared(part: Rows) -> Any:
    truth, scale, prediction = _parts(part)
    return (truth - prediction) ** 2 / scale


METRICS: Final = (
    TableMetric(
        "mase", "Mean absolute scaled error", "time series",
        "Errors over the scale column: each series' mean absolute difference of neighbours (or of one season) in the training data.",
        "min", (0.0, None), _SCALED, _NUMBER, "Hyndman & Koehler (2006), Int. J. Forecasting 22(4)", per_row=scaled_errors,
        perfect=0.0,
    ),
    TableMetric(
        "rmsse", "Root mean squared scaled error", "time series",
        "Mean over the series (groups); the scale column is each series' mean squared difference of neighbours in the training data.",
        "min", (0.0, None), _SCALED, _NUMBER, "Makridakis et al. (2022), The M5 competition, Int. J. Forecasting 38(4)",
        function=root_scaled_error, perfect=0.0, needs_group=True, words="wrmsse m5",
    ),
)  # fmt: skip
"""The metrics of forecasts."""

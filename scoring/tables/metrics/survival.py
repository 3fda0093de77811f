"""Metrics of times until an event, some of them cut off before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from scoring.tables.metrics.base import Prediction, Rows, TableMetric, Target, undefined

_EVENT: Final = Target("number", ("time", "event"))
_TIME, _RISK = Prediction("number", "named", ("time",)), Prediction("number", "named", ("risk",))


def _concordance(time: Any, event: Any, longer: Any) -> float:
    """Harrell's C: of the pairs whose order is known, the share in which the predictions have it; ties count half."""
    won = tied = pairs = np.int64(0)
    for place in np.flatnonzero(event):
        later = (time > time[place]) | ((time == time[place]) & (event == 0))
        pairs += np.count_nonzero(later)
        won += np.count_nonzero(longer[later] > longer[place])
        tied += np.count_nonzero(longer[later] == longer[place])
    if not pairs:
        raise undefined("no two rows can be compared", "give each part events and later times")
    return float((won + tied / 2) / pairs)


def _columns(rows: Rows) -> tuple[Any, Any, Any]:
    time, event = rows.truth.T
    return time, event, rows.prediction if rows.prediction.ndim == 1 else rows.prediction[:, 0]


def concordance_of_times(rows: Rows) -> float:
    """Concordance of predicted times.

    >>> round(concordance_of_times(Rows(np.array([[2.0, 1.0], [5.0, 0.0], [3.0, 1.0]]), np.array([1.0, 4.0, 5.0]))), 4)
    0.6667
    """
    return _concordance(*_columns(rows))


def concordance_of_risks(rows: Rows) -> float:
    """Concordance of predicted risks: a higher risk is a shorter time.

    >>> round(concordance_of_risks(Rows(np.array([[2.0, 1.0], [5.0, 0.0], [3.0, 1.0]]), np.array([1.0, 4.0, 5.0]))), 4)
    0.3333
    """
    time, event, risk = _columns(rows)
    return _concordance(time, event, -risk)


def _metric(name: str, title: str, text: str, prediction: Prediction, function: Callable[[Rows], float]) -> TableMetric:
    return TableMetric(
        name, title, "survival", text, "max", (0.0, 1.0), _EVENT, prediction, "lifelines.utils.concordance_index", function,
        weighted=False, words="c-index harrell censored",
    )  # fmt: skip


METRICS: Final = (
    _metric(
        "concordance_index", "Concordance index of times", "Share of the pairs that the predicted times order rightly.",
        _TIME, concordance_of_times,
    ),
    _metric(
        "risk_concordance", "Concordance index of risks", "Share of the pairs that the predicted risks order rightly.",
        _RISK, concordance_of_risks,
    ),
)  # fmt: skip
"""The metrics of times until an event."""

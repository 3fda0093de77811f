"""Metrics of times until an event, some of them cut off before it."""

from typing import Any, Final

import numpy as np

from scoring.metrics.metric import Prediction, Rows, Subject, Target, no_value

SURVIVAL: Final = Subject(
    group="survival",
    direction="max",
    target=Target("number", ("time", "event")),
    prediction=Prediction("number", "named", ("time",)),
    weighted=False,
    words="c-index harrell censored",
)


def _concordance(time: Any, event: Any, longer: Any) -> float:
    """Harrell's C: the share of pairs with a known order that the predictions have right; ties half."""
    won = tied = pairs = np.int64(0)
    for place in np.flatnonzero(event):
        later = (time > time[place]) | ((time == time[place]) & (event == 0))
        pairs += np.count_nonzero(later)
        won += np.count_nonzero(longer[later] > longer[place])
        tied += np.count_nonzero(longer[later] == longer[place])
    if not pairs:
        raise no_value("no two rows can be compared", "give each part events and later times")
    return float((won + tied / 2) / pairs)


def _columns(rows: Rows) -> tuple[Any, Any, Any]:
    time, event = rows.truth.T
    return time, event, rows.prediction if rows.prediction.ndim == 1 else rows.prediction[:, 0]


@SURVIVAL.whole("concordance_index", "Concordance index of times", "lifelines.utils.concordance_index")
def time_concordance(rows: Rows) -> float:
    """Share of the pairs that the predicted times order rightly.

    >>> round(time_concordance(Rows(np.array([[2.0, 1.0], [5.0, 0.0], [3.0, 1.0]]), np.array([1.0, 4.0, 5.0]))), 4)
    0.6667
    """
    return _concordance(*_columns(rows))


@SURVIVAL.whole(
    "risk_concordance",
    "Concordance index of risks",
    "lifelines.utils.concordance_index",
    prediction=Prediction("number", "named", ("risk",)),
)
def risk_concordance(rows: Rows) -> float:
    """Share of the pairs that the predicted risks order rightly.

    A higher risk is a shorter time.

    >>> round(risk_concordance(Rows(np.array([[2.0, 1.0], [5.0, 0.0], [3.0, 1.0]]), np.array([1.0, 4.0, 5.0]))), 4)
    0.3333
    """
    time, event, risk = _columns(rows)
    return _concordance(time, event, -risk)

"""Metrics of quantiles, intervals, ensembles and normal distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from scoring.errors import ScoringInputError
from scoring.tables.metrics.base import (
    MIN_POSITIVE,
    Floats,
    Parameter,
    Prediction,
    Rows,
    TableMetric,
    Target,
    undefined,
)

_TARGET: Final = Target("number")
_NUMBER, _LEVELS, _MEMBERS = Prediction("number"), Prediction("number", "per level"), Prediction("number", "per member")
_INTERVAL, _NORMAL = Prediction("number", "named", ("lower", "upper")), Prediction("number", "named", ("mean", "sd"))
_ALPHA: Final = Parameter(
    "alpha", "number", 0.1, "share of the rows that may lie outside: 0.1 is a 90 % interval", 1e-6, 1 - 1e-6
)


def _pinball(gap: Any, level: Any) -> Any:
    return np.maximum(level * gap, (level - 1) * gap)


def pinball_losses(rows: Rows, *, level: float) -> Any:
    """The quantile loss of one level.

    >>> pinball_losses(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), level=0.9).round(4).tolist()
    [0.05, -0.0, 0.9]
    """
    return _pinball(rows.truth - rows.prediction, level)


def mean_pinball_losses(rows: Rows, *, levels: Sequence[float]) -> Any:
    """Each row's mean quantile loss over the levels, one column each.

    >>> rows = Rows(np.array([1.0]), np.array([[0.5, 1.0, 2.0]]))
    >>> mean_pinball_losses(rows, levels=(0.1, 0.5, 0.9)).round(4).tolist()
    [0.05]
    """
    return _pinball(rows.truth[:, np.newaxis] - rows.prediction, np.asarray(levels)).mean(axis=1)


def explained_pinball(rows: Rows, *, level: float) -> float:
    """Share of the best constant's quantile loss that is saved.

    >>> round(explained_pinball(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), level=0.5), 4)
    0.5
    """
    if rows.weight is not None:
        raise AssertionError("takes no weights")
    constant = float(np.percentile(rows.truth, 100 * level))
    loss = rows.mean(_pinball(rows.truth - constant, level))
    if loss == 0:
        raise undefined("all true values are equal", "give each part values that differ")
    return 1 - rows.mean(pinball_losses(rows, level=level)) / loss


def interval_losses(rows: Rows, *, alpha: float) -> Any:
    """Width of the interval, and 2 / alpha for each unit by which the truth lies outside.

    >>> interval_losses(Rows(np.array([1.0, 2.0]), np.array([[0.5, 1.5], [1.0, 3.0]])), alpha=0.1).round(4).tolist()
    [1.0, 2.0]
    """
    lower, upper = _bounds(rows)
    outside = np.maximum(lower - rows.truth, 0) + np.maximum(rows.truth - upper, 0)
    return upper - lower + 2 / alpha * outside


def coverage_gap(rows: Rows, *, alpha: float) -> float:
    """Distance of the share of rows inside their interval from 1 - alpha.

    >>> round(coverage_gap(Rows(np.array([1.0, 2.0]), np.array([[0.5, 1.5], [1.0, 3.0]])), alpha=0.1), 4)
    0.1
    """
    lower, upper = _bounds(rows)
    return abs(rows.mean((lower <= rows.truth) & (rows.truth <= upper)) - (1 - alpha))


def _bounds(rows: Rows) -> tuple[Any, Any]:
    lower, upper = rows.prediction.T
    if np.any(lower > upper):
        raise ScoringInputError("out_of_range", "prediction", "a lower bound is above its upper bound", "swap them")
    return lower, upper


def ensemble_crps(rows: Rows, *, members: int) -> Any:
    """Continuous ranked probability score of the ensemble's empirical distribution.

    >>> ensemble_crps(Rows(np.array([1.0]), np.array([[0.5, 1.0, 2.0]])), members=3).round(4).tolist()
    [0.1667]
    """
    ordered = np.sort(rows.prediction, axis=1)
    ranks = 2 * np.arange(1, members + 1) - members - 1
    spread = (ordered * ranks).sum(axis=1) / members**2
    return np.abs(rows.prediction - rows.truth[:, np.newaxis]).mean(axis=1) - spread


def _standardised(rows: Rows) -> tuple[Any, Any]:
    mean, deviation = rows.prediction.T
    if np.any(deviation <= 0):
        raise ScoringInputError(
            "out_of_range", "prediction", "a standard deviation is 0 or below", "predict deviations above 0"
        )
    return (rows.truth - mean) / deviation, deviation


def normal_crps(rows: Rows) -> Any:
    """Continuous ranked probability score of a normal distribution, in closed form.

    >>> normal_crps(Rows(np.array([1.0, 2.0]), np.array([[0.5, 1.5], [1.0, 3.0]]))).round(4).tolist()
    [0.4164, 0.8328]
    """
    from scipy.special import ndtr

    gap, deviation = _standardised(rows)
    density = np.exp(-(gap**2) / 2) / np.sqrt(2 * np.pi)
    return deviation * (gap * (2 * ndtr(gap) - 1) + 2 * density - 1 / np.sqrt(np.pi))


def normal_log_losses(rows: Rows) -> Floats:
    """Minus the logarithm of the normal density at the truth.

    >>> normal_log_losses(Rows(np.array([1.0, 2.0]), np.array([[0.5, 1.5], [1.0, 3.0]]))).round(4).tolist()
    [1.38, 2.0731]
    """
    gap, deviation = _standardised(rows)
    return np.asarray(
        gap**2 / 2 + np.log(np.maximum(deviation, MIN_POSITIVE)) + np.log(2 * np.pi) / 2, dtype=np.float64
    )


def _loss(name: str, title: str, text: str, prediction: Prediction, source: str, **more: Any) -> TableMetric:
    settings: dict[str, Any] = {
        "direction": "min",
        "range": (0.0, None),
        "unit": "unit of the target",
        "perfect": 0.0,
    } | more
    return TableMetric(
        name=name,
        title=title,
        group="quantiles and distributions",
        help=text,
        target=_TARGET,
        prediction=prediction,
        source=source,
        **settings,
    )


_LEVEL: Final = Parameter("level", "number", 0.5, "which quantile: 0.5 is the median", 1e-6, 1 - 1e-6)

METRICS: Final = (
    _loss(
        "pinball_loss", "Pinball loss", "For one quantile: too low and too high cost differently.", _NUMBER,
        "scikit-learn: sklearn.metrics.mean_pinball_loss", per_row=pinball_losses, parameters=(_LEVEL,), words="quantile loss",
    ),
    _loss(
        "mean_pinball_loss", "Mean pinball loss of several quantiles", "One column for each quantile.", _LEVELS,
        "scikit-learn: sklearn.metrics.mean_pinball_loss", per_row=mean_pinball_losses, words="weighted quantile loss",
        parameters=(Parameter("levels", "numbers", (0.1, 0.5, 0.9), "the quantiles", 1e-6, 1 - 1e-6),),
    ),
    _loss(
        "d2_pinball", "Explained pinball loss", "Share of the best constant's pinball loss that is saved.", _NUMBER,
        "scikit-learn: sklearn.metrics.d2_pinball_score", function=explained_pinball, parameters=(_LEVEL,), direction="max",
        range=(None, 1.0), unit="", perfect=1.0, weighted=False,
    ),
    _loss(
        "interval_score", "Interval score", "Narrow intervals that hold the truth are best.", _INTERVAL,
        "Gneiting & Raftery (2007), JASA 102(477), eq. 43", per_row=interval_losses, parameters=(_ALPHA,), words="winkler",
    ),
    _loss(
        "coverage_gap", "Gap of coverage", "How far the share of rows inside their interval is from the promised one.", _INTERVAL,
        "formula: |mean(l <= y <= u) - (1 - alpha)|", function=coverage_gap, parameters=(_ALPHA,), range=(0.0, 1.0), unit="share",
        perfect=None, words="calibration",
    ),
    _loss(
        "crps_ensemble", "CRPS of an ensemble", "Several drawn values a row stand for the predicted distribution.", _MEMBERS,
        "Gneiting & Raftery (2007), JASA 102(477), eq. 21", per_row=ensemble_crps,
        parameters=(Parameter("members", "integer", 10, "how many columns", 1, 1000),),
        words="continuous ranked probability score",
    ),
    _loss(
        "crps_normal", "CRPS of a normal distribution", "Mean and standard deviation stand for the predicted distribution.",
        _NORMAL, "Gneiting et al. (2005), Mon. Weather Rev. 133(5), eq. 5", per_row=normal_crps,
        words="continuous ranked probability score", perfect=None,
    ),
    _loss(
        "normal_log_loss", "Log loss of a normal distribution", "Minus the logarithm of the predicted density at the truth.",
        _NORMAL, "scipy.stats.norm.logpdf", per_row=normal_log_losses, range=(None, None), unit="", perfect=None,
        words="likelihood laplace",
    ),
)  # fmt: skip
"""The metrics of quantiles and distributions."""

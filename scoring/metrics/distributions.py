"""Metrics of quantiles, intervals, ensembles and normal distributions."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from scoring.errors import ScoringInputError
from scoring.metrics.metric import MIN_POSITIVE, SKLEARN, Floats, Parameter, Prediction, Rows, Subject, Target, no_value

_LEVELS, _MEMBERS = Prediction("number", "per level"), Prediction("number", "per member")
_ALPHA: Final = Parameter(
    "alpha", "number", 0.1, "share of the rows that may lie outside: 0.1 is a 90 % interval", 1e-6, 1 - 1e-6
)
_LEVEL: Final = Parameter("level", "number", 0.5, "which quantile: 0.5 is the median", 1e-6, 1 - 1e-6)
DISTRIBUTIONS: Final = Subject(
    group="quantiles and distributions",
    direction="min",
    range=(0.0, None),
    target=Target("number"),
    prediction=Prediction("number"),
    perfect=0.0,
)
QUANTILES: Final = DISTRIBUTIONS.but(parameters=(_LEVEL,))
INTERVALS: Final = DISTRIBUTIONS.but(prediction=Prediction("number", "named", ("lower", "upper")), parameters=(_ALPHA,))
NORMALS: Final = DISTRIBUTIONS.but(prediction=Prediction("number", "named", ("mean", "sd")), perfect=None)


def _pinball(gap: Any, level: Any) -> Any:
    return np.maximum(level * gap, (level - 1) * gap)


@QUANTILES.mean("pinball_loss", "Pinball loss", SKLEARN + "mean_pinball_loss", words="quantile loss")
def pinball_losses(rows: Rows, *, level: float) -> Any:
    """For one quantile: too low and too high cost differently.

    >>> pinball_losses(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), level=0.9).round(4).tolist()
    [0.05, -0.0, 0.9]
    """
    return _pinball(rows.truth - rows.prediction, level)


@DISTRIBUTIONS.mean(
    "mean_pinball_loss",
    "Mean pinball loss of several quantiles",
    SKLEARN + "mean_pinball_loss",
    prediction=_LEVELS,
    parameters=(Parameter("levels", "numbers", (0.1, 0.5, 0.9), "the quantiles", 1e-6, 1 - 1e-6),),
    words="weighted quantile loss",
)
def mean_pinball_losses(rows: Rows, *, levels: Sequence[float]) -> Any:
    """One column for each quantile.

    >>> rows = Rows(np.array([1.0]), np.array([[0.5, 1.0, 2.0]]))
    >>> mean_pinball_losses(rows, levels=(0.1, 0.5, 0.9)).round(4).tolist()
    [0.05]
    """
    return _pinball(rows.truth[:, np.newaxis] - rows.prediction, np.asarray(levels)).mean(axis=1)


@QUANTILES.whole(
    "d2_pinball",
    "Explained pinball loss",
    SKLEARN + "d2_pinball_score",
    direction="max",
    range=(None, 1.0),
    perfect=1.0,
    weighted=False,
)
def explained_pinball(rows: Rows, *, level: float) -> float:
    """Share of the best constant's pinball loss that is saved.

    >>> round(explained_pinball(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), level=0.5), 4)
    0.5
    """
    constant = float(np.percentile(rows.truth, 100 * level))
    loss = rows.mean(_pinball(rows.truth - constant, level))
    if loss == 0:
        raise no_value("all true values are equal", "give each part values that differ")
    return 1 - rows.mean(pinball_losses(rows, level=level)) / loss


@INTERVALS.mean("interval_score", "Interval score", "Gneiting & Raftery (2007), JASA 102(477), eq. 43", words="winkler")
def interval_losses(rows: Rows, *, alpha: float) -> Any:
    """Narrow intervals that hold the truth are best.

    A row's loss is the width, and 2 / alpha for each unit by which the truth lies outside.

    >>> interval_losses(Rows(np.array([1.0, 2.0]), np.array([[0.5, 1.5], [1.0, 3.0]])), alpha=0.1).round(4).tolist()
    [1.0, 2.0]
    """
    lower, upper = _bounds(rows)
    outside = np.maximum(lower - rows.truth, 0) + np.maximum(rows.truth - upper, 0)
    return upper - lower + 2 / alpha * outside


@INTERVALS.whole(
    "coverage_gap",
    "Gap of coverage",
    "formula: |mean(l <= y <= u) - (1 - alpha)|",
    range=(0.0, 1.0),
    unit="share",
    perfect=None,
    words="calibration",
)
def coverage_gap(rows: Rows, *, alpha: float) -> float:
    """Distance between the share of rows inside their interval and the promised share.

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


@DISTRIBUTIONS.mean(
    "crps_ensemble",
    "CRPS of an ensemble",
    "Gneiting & Raftery (2007), JASA 102(477), eq. 21",
    prediction=_MEMBERS,
    parameters=(Parameter("members", "integer", 10, "how many columns", 1, 1000),),
    words="continuous ranked probability score",
)
def ensemble_crps(rows: Rows, *, members: int) -> Any:
    """Several drawn values a row stand for the predicted distribution.

    Continuous ranked probability score of the empirical distribution.

    >>> ensemble_crps(Rows(np.array([1.0]), np.array([[0.5, 1.0, 2.0]])), members=3).round(4).tolist()
    [0.1667]
    """
    ordered = np.sort(rows.prediction, axis=1)
    ranks = 2 * np.arange(1, members + 1) - members - 1
    spread = (ordered * ranks).sum(axis=1) / members**2
    return np.abs(rows.prediction - rows.truth[:, np.newaxis]).mean(axis=1) - spread


def _standardize(rows: Rows) -> tuple[Any, Any]:
    mean, deviation = rows.prediction.T
    if np.any(deviation <= 0):
        raise ScoringInputError(
            "out_of_range", "prediction", "a standard deviation is 0 or below", "predict deviations above 0"
        )
    return (rows.truth - mean) / deviation, deviation


@NORMALS.mean(
    "crps_normal",
    "CRPS of a normal distribution",
    "Gneiting et al. (2005), Mon. Weather Rev. 133(5), eq. 5",
    words="continuous ranked probability score",
)
def normal_crps(rows: Rows) -> Any:
    """Mean and standard deviation stand for the predicted distribution.

    Continuous ranked probability score, in closed form.

    >>> normal_crps(Rows(np.array([1.0, 2.0]), np.array([[0.5, 1.5], [1.0, 3.0]]))).round(4).tolist()
    [0.4164, 0.8328]
    """
    from scipy.special import ndtr

    gap, deviation = _standardize(rows)
    density = np.exp(-(gap**2) / 2) / np.sqrt(2 * np.pi)
    return deviation * (gap * (2 * ndtr(gap) - 1) + 2 * density - 1 / np.sqrt(np.pi))


@NORMALS.mean(
    "normal_log_loss",
    "Log loss of a normal distribution",
    "scipy.stats.norm.logpdf",
    range=(None, None),
    words="likelihood laplace",
)
def normal_log_losses(rows: Rows) -> Floats:
    """Minus the logarithm of the predicted density at the truth.

    >>> normal_log_losses(Rows(np.array([1.0, 2.0]), np.array([[0.5, 1.5], [1.0, 3.0]]))).round(4).tolist()
    [1.38, 2.0731]
    """
    gap, deviation = _standardize(rows)
    return np.asarray(
        gap**2 / 2 + np.log(np.maximum(deviation, MIN_POSITIVE)) + np.log(2 * np.pi) / 2, dtype=np.float64
    )

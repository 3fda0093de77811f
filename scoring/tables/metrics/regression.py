"""Metrics of numbers: errors, correlations, deviances of counts, distances on the earth."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import scoring
from scoring.errors import ScoringInputError
from scoring.tables.metrics.base import Floats, Parameter, Prediction, Rows, TableMetric, Target, undefined

_TARGET, _SEVERAL, _PLACE = (
    Target("number"),
    Target("number", several=True),
    Target("number", ("latitude", "longitude")),
)
_NUMBER, _POSITIVE = Prediction("number"), Prediction("positive")
_SKLEARN: Final = "scikit-learn: sklearn.metrics."
_EARTH_KM: Final = 6371.0088


def absolute_errors(rows: Rows) -> Any:
    """Absolute differences.

    >>> absolute_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.5, 0.0, 1.0]
    """
    gap = rows.truth - rows.prediction
    return np.abs(gap, out=gap)


def squared_errors(rows: Rows) -> Any:
    """Squared differences.

    >>> squared_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.25, 0.0, 1.0]
    """
    gap = rows.truth - rows.prediction
    return np.multiply(gap, gap, out=gap)


def squared_log_errors(rows: Rows) -> Any:
    """Squared differences of log(1 + value).

    >>> squared_log_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.0498, 0.0, 0.0498]
    """
    for values, where in ((rows.truth, "the solution"), (rows.prediction, "prediction")):
        if np.any(values <= -1):
            raise ScoringInputError("out_of_range", where, "it holds values of -1 or below", "give values above -1")
    return (np.log1p(rows.truth) - np.log1p(rows.prediction)) ** 2


def percentage_errors(rows: Rows) -> Any:
    """Absolute differences as a share of the truth (of 2.2e-16 where that is 0).

    >>> percentage_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.5, 0.0, 0.25]
    """
    return absolute_errors(rows) / np.maximum(np.abs(rows.truth), np.finfo(np.float64).eps)


def squared_percentage_errors(rows: Rows) -> Any:
    """Squared differences as shares of the truth, which must not be 0.

    >>> squared_percentage_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.25, 0.0, 0.0625]
    """
    if np.any(rows.truth == 0):
        raise undefined("a true value is 0", "choose another metric")
    return (absolute_errors(rows) / rows.truth) ** 2


def symmetric_percentage_errors(rows: Rows) -> Any:
    """Absolute differences over the mean of the absolute values; 0 where both are 0.

    >>> symmetric_percentage_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.4, 0.0, 0.2857]
    """
    size = (np.abs(rows.truth) + np.abs(rows.prediction)) / 2
    return np.where(size > 0, absolute_errors(rows) / np.where(size > 0, size, 1.0), 0.0)


def weighted_percentage_error(rows: Rows) -> float:
    """Sum of absolute differences over the sum of absolute values.

    >>> round(weighted_percentage_error(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.2143
    """
    size = rows.mean(np.abs(rows.truth))
    if size == 0:
        raise undefined("all true values are 0", "choose another metric")
    return rows.mean(absolute_errors(rows)) / size


def median_absolute_error(rows: Rows) -> float:
    """Median of the absolute differences.

    >>> round(median_absolute_error(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.5
    """
    return float(np.median(absolute_errors(rows)))


def max_error(rows: Rows) -> float:
    """Largest absolute difference.

    >>> round(max_error(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    return float(np.max(absolute_errors(rows)))


def huber_losses(rows: Rows, *, delta: float) -> Any:
    """Half the square of small differences; beyond `delta` the loss grows as a line.

    >>> huber_losses(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), delta=0.5).round(4).tolist()
    [0.125, 0.0, 0.375]
    """
    gap = absolute_errors(rows)
    return np.where(gap <= delta, gap**2 / 2, delta * (gap - delta / 2))


def log_cosh_losses(rows: Rows) -> Any:
    """Logarithm of the hyperbolic cosine of the differences.

    >>> log_cosh_losses(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.1201, 0.0, 0.4338]
    """
    gap = absolute_errors(rows)
    return gap + np.log1p(np.exp(-2 * gap)) - np.log(2)


def r_squared(rows: Rows) -> float:
    """Share of the truth's variance that is explained, 1 minus squared errors over squared gaps from the mean.

    >>> round(r_squared(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.7321
    """
    spread = rows.mean((rows.truth - rows.mean(rows.truth)) ** 2)
    if spread == 0:
        raise undefined("all true values are equal", "give each part values that differ")
    return 1 - rows.mean(squared_errors(rows)) / spread


def explained_variance(rows: Rows) -> float:
    """As `r_squared`, without the cost of a constant offset.

    >>> round(explained_variance(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.75
    """
    gap = rows.truth - rows.prediction
    spread = rows.mean((rows.truth - rows.mean(rows.truth)) ** 2)
    if spread == 0:
        raise undefined("all true values are equal", "give each part values that differ")
    return 1 - rows.mean((gap - rows.mean(gap)) ** 2) / spread


def _moments(rows: Rows, truth: Any, prediction: Any) -> tuple[float, float, float]:
    """Variances of both and their covariance."""
    true_gap, gap = truth - rows.mean(truth), prediction - rows.mean(prediction)
    return rows.mean(true_gap**2), rows.mean(gap**2), rows.mean(true_gap * gap)


def pearson(rows: Rows) -> float:
    """Linear correlation; 0 for constant predictions.

    >>> round(pearson(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    return _correlation(rows, rows.truth, rows.prediction)


def _correlation(rows: Rows, truth: Any, prediction: Any) -> float:
    if np.ptp(truth) == 0:
        raise undefined("all true values are equal", "give each part values that differ")
    true_spread, spread, joint = _moments(rows, _near_one(truth), _near_one(prediction))
    return 0.0 if np.ptp(prediction) == 0 else float(np.clip(joint / np.sqrt(true_spread * spread), -1, 1))


def _near_one(values: Any) -> Any:
    """The values divided by the power of two that leaves them within 1: squares of 1e160 are infinite, those of 1e-170 are 0."""
    _, exponent = np.frexp(np.max(np.abs(values)))
    return np.ldexp(np.asarray(values, dtype=np.float64), -exponent)  # a power of two changes no digit


def spearman(rows: Rows) -> float:
    """Correlation of the ranks, equal values sharing their mean rank; 0 for constant predictions.

    >>> round(spearman(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    return _correlation(rows, _ranks(rows.truth), _ranks(rows.prediction))


def _ranks(values: Any) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def kendall(rows: Rows) -> float:
    """Kendall's tau-b: pairs in the same order less pairs in the other; 0 for constant predictions.

    >>> round(kendall(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    from scipy.stats import kendalltau

    if np.ptp(rows.truth) == 0:
        raise undefined("all true values are equal", "give each part values that differ")
    return 0.0 if np.ptp(rows.prediction) == 0 else float(kendalltau(rows.truth, rows.prediction).statistic)


def concordance_correlation(rows: Rows) -> float:
    """Lin's concordance correlation: correlation that an offset or another scale lowers.

    >>> round(concordance_correlation(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.7887
    """
    true_spread, spread, joint = _moments(rows, rows.truth, rows.prediction)
    offset = (rows.mean(rows.truth) - rows.mean(rows.prediction)) ** 2
    if true_spread + spread + offset == 0:
        raise undefined("all values are equal", "give each part values that differ")
    return 2 * joint / (true_spread + spread + offset)


def mean_column_rmse(rows: Rows) -> float:
    """Mean over the columns of their root mean squared errors.

    >>> round(mean_column_rmse(Rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 3.0], [3.0, 4.0]]))), 4)
    0.3536
    """
    if rows.weight is None:
        return scoring.root_mean_squared_error(rows.truth, rows.prediction)
    return float(np.mean(np.sqrt(np.average(squared_errors(rows), weights=rows.weight, axis=0))))


def column_absolute_errors(rows: Rows) -> Any:
    """Each row's mean absolute difference over its columns.

    >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 3.0], [3.0, 4.0]]))
    >>> column_absolute_errors(rows).round(4).tolist()
    [0.5, 0.0]
    """
    return absolute_errors(rows).mean(axis=1)


def deviances(rows: Rows, *, power: float) -> Any:
    """Unit deviances of a Tweedie distribution: power 1 is Poisson's, 2 is gamma's.

    >>> deviances(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), power=1.5).round(4).tolist()
    [0.165, 0.0, 0.1658]
    """
    truth, mean = rows.truth.astype(np.float64), rows.prediction.astype(np.float64)
    if np.any(truth < 0) or (power >= 2 and np.any(truth == 0)):
        raise undefined(
            "the truth holds values that this deviance does not have",
            "use counts, for power 2 and above positive numbers",
        )
    if np.any(mean <= 0):
        raise ScoringInputError("out_of_range", "prediction", "it holds values of 0 or below", "predict means above 0")
    if power == 1:
        return 2 * (np.where(truth > 0, truth * np.log(np.where(truth > 0, truth, 1.0) / mean), 0.0) - truth + mean)
    if power == 2:
        return 2 * (np.log(mean / truth) + truth / mean - 1)
    first = truth ** (2 - power) / ((1 - power) * (2 - power))
    return 2 * (first - truth * mean ** (1 - power) / (1 - power) + mean ** (2 - power) / (2 - power))


def poisson_deviances(rows: Rows) -> Any:
    """Unit deviances of the Poisson distribution.

    >>> poisson_deviances(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.1891, 0.0, 0.3015]
    """
    return deviances(rows, power=1)


def gamma_deviances(rows: Rows) -> Any:
    """Unit deviances of the gamma distribution.

    >>> gamma_deviances(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.1443, 0.0, 0.0913]
    """
    return deviances(rows, power=2)


def distances_km(rows: Rows) -> Any:
    """Great-circle distances in km on a sphere of the earth's mean radius.

    >>> distances_km(Rows(np.array([[52.5, 13.4]]), np.array([[48.1, 11.6]]))).round(4).tolist()
    [505.6437]
    """
    latitude, longitude = np.radians(rows.truth).T
    other_latitude, other_longitude = np.radians(rows.prediction).T
    part = np.sin((latitude - other_latitude) / 2) ** 2
    part = part + np.cos(latitude) * np.cos(other_latitude) * np.sin((longitude - other_longitude) / 2) ** 2
    return 2 * _EARTH_KM * np.arcsin(np.sqrt(np.clip(part, 0, 1)))


def _error(
    name: str, title: str, text: str, source: str, per_row: Any = None, function: Any = None, **more: Any
) -> TableMetric:
    settings: dict[str, Any] = {
        "group": "regression",
        "range": (0.0, None),
        "unit": "unit of the target",
        "target": _TARGET,
        "prediction": _NUMBER,
    } | more
    return TableMetric(
        name=name, title=title, help=text, direction="min", source=source, per_row=per_row, function=function,
        perfect=0.0, **settings,
    )  # fmt: skip


def _agreement(name: str, title: str, text: str, source: str, function: Any, **more: Any) -> TableMetric:
    settings: dict[str, Any] = {"range": (-1.0, 1.0)} | more
    return TableMetric(
        name=name, title=title, group="regression", help=text, direction="max", target=_TARGET, prediction=_NUMBER, source=source,
        function=function, perfect=1.0, **settings,
    )  # fmt: skip


METRICS: Final = (
    _error(
        "rmse", "Root mean squared error", "Large errors cost more than in proportion.", _SKLEARN + "root_mean_squared_error",
        squared_errors, finish=np.sqrt,
    ),
    _error("mae", "Mean absolute error", "Mean distance from the truth.", _SKLEARN + "mean_absolute_error", absolute_errors),
    _error(
        "mse", "Mean squared error", "Mean squared distance from the truth.", _SKLEARN + "mean_squared_error", squared_errors,
        unit="unit of the target, squared",
    ),
    _error(
        "rmsle", "Root mean squared logarithmic error", "For values of very different sizes: errors count in proportion.",
        _SKLEARN + "root_mean_squared_log_error", squared_log_errors, finish=np.sqrt, unit="",
    ),
    _error(
        "median_absolute_error", "Median absolute error", "Half of the rows are nearer; outliers do not count.",
        _SKLEARN + "median_absolute_error", function=median_absolute_error, weighted=False,
    ),
    _error(
        "max_error", "Largest error", "The worst row alone counts.", _SKLEARN + "max_error", function=max_error, weighted=False,
    ),
    _error(
        "mape", "Mean absolute percentage error", "Errors as a share of the truth, which should not be near 0.",
        _SKLEARN + "mean_absolute_percentage_error", percentage_errors, unit="share",
    ),
    _error(
        "rmspe", "Root mean squared percentage error", "Errors as a share of the truth, squared.",
        "formula: sqrt(mean(((y - p) / y)^2))", squared_percentage_errors, finish=np.sqrt, unit="share",
    ),
    _error(
        "smape", "Symmetric mean absolute percentage error", "Errors as a share of the mean of truth and prediction.",
        "Makridakis (1993), Int. J. Forecasting 9(4)", symmetric_percentage_errors, range=(0.0, 2.0), unit="share",
        group="time series",
    ),
    _error(
        "wape", "Weighted absolute percentage error", "Sum of the errors over the sum of the truth.",
        "formula: sum|y - p| / sum|y|", function=weighted_percentage_error, unit="share", group="time series",
    ),
    _error(
        "huber_loss", "Huber loss", "Squared for small errors, a line for large ones.", "scipy.special.huber", huber_losses,
        unit="", parameters=(Parameter("delta", "number", 1.0, "from which error on the loss is a line", 1e-9),),
    ),
    _error(
        "log_cosh_loss", "Log-cosh loss", "Nearly squared for small errors, a line for large ones.", "formula: log(cosh(y - p))",
        log_cosh_losses, unit="",
    ),
    _agreement(
        "r_squared", "R squared", "Share of the variance that is explained; 0 is the mean.", _SKLEARN + "r2_score", r_squared,
        range=(None, 1.0), words="r2 coefficient of determination",
    ),
    _agreement(
        "explained_variance", "Explained variance", "As R squared; a constant offset costs nothing.",
        _SKLEARN + "explained_variance_score", explained_variance, range=(None, 1.0),
    ),
    _agreement("pearson", "Pearson correlation", "Linear correlation.", "scipy.stats.pearsonr", pearson),
    _agreement(
        "spearman", "Spearman correlation", "Correlation of the ranks: the order alone counts.", "scipy.stats.spearmanr",
        spearman, weighted=False,
    ),
    _agreement(
        "kendall", "Kendall's tau", "Pairs in the right order less pairs in the wrong one.", "scipy.stats.kendalltau", kendall,
        weighted=False,
    ),
    _agreement(
        "concordance_correlation", "Concordance correlation", "Correlation that an offset or another scale lowers.",
        "Lin (1989), Biometrics 45(1)", concordance_correlation, words="ccc",
    ),
    _error(
        "mcrmse", "Mean column RMSE", "Mean over several target columns of their root mean squared errors.",
        _SKLEARN + "root_mean_squared_error", function=mean_column_rmse, target=_SEVERAL, words="columnwise",
    ),
    _error(
        "mean_column_mae", "Mean column MAE", "Mean absolute error over several target columns.",
        _SKLEARN + "mean_absolute_error", column_absolute_errors, target=_SEVERAL, words="columnwise",
    ),
    _error(
        "poisson_deviance", "Poisson deviance", "For counts: the predictions are means above 0.",
        _SKLEARN + "mean_poisson_deviance", poisson_deviances, group="counts", unit="", prediction=_POSITIVE,
    ),
    _error(
        "gamma_deviance", "Gamma deviance", "For positive amounts: errors count in proportion.", _SKLEARN + "mean_gamma_deviance",
        gamma_deviances, group="counts", unit="", prediction=_POSITIVE,
    ),
    _error(
        "tweedie_deviance", "Tweedie deviance", "For amounts that are often 0, such as claims.",
        _SKLEARN + "mean_tweedie_deviance", deviances, group="counts", unit="", prediction=_POSITIVE,
        parameters=(Parameter("power", "number", 1.5, "1 is Poisson's, 2 is gamma's", 1.0, 3.0),),
    ),
    _error(
        "haversine_km", "Mean distance on the earth", "Great-circle distance of predicted from true places.",
        _SKLEARN + "pairwise.haversine_distances", distances_km, target=_PLACE, group="spatial", unit="km",
        words="latitude longitude geo",
    ),
)  # fmt: skip
"""The metrics of numbers."""

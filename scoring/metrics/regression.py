"""Metrics of numbers: errors, correlations, deviances of counts, distances on the earth."""

from typing import Any, Final

import numpy as np

from scoring.errors import ScoringInputError
from scoring.metrics.metric import SKLEARN, Floats, Parameter, Prediction, Rows, Subject, Target, no_value

_EARTH_KM: Final = 6371.0088
NUMBERS: Final = Subject(
    group="regression",
    direction="min",
    range=(0.0, None),
    target=Target("number"),
    prediction=Prediction("number"),
    perfect=0.0,
)
AGREEMENT: Final = Subject(
    group="regression",
    direction="max",
    range=(-1.0, 1.0),
    target=Target("number"),
    prediction=Prediction("number"),
    perfect=1.0,
)
SHARES: Final = NUMBERS.but(unit="share")
DEVIANCES: Final = NUMBERS.but(group="counts", target=Target("number", least=0.0), prediction=Prediction("positive"))
COLUMNS: Final = NUMBERS.but(target=Target("number", several=True), words="columnwise")


@NUMBERS.mean("rmse", "Root mean squared error", SKLEARN + "root_mean_squared_error", finish=np.sqrt)
def squared_errors(rows: Rows) -> Any:
    """Large errors cost more than in proportion.

    >>> squared_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.25, 0.0, 1.0]
    """
    gap = rows.truth - rows.prediction
    return np.multiply(gap, gap, out=gap)


@NUMBERS.mean("mae", "Mean absolute error", SKLEARN + "mean_absolute_error")
def absolute_errors(rows: Rows) -> Any:
    """Mean distance from the truth.

    >>> absolute_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.5, 0.0, 1.0]
    """
    gap = rows.truth - rows.prediction
    return np.abs(gap, out=gap)


@NUMBERS.mean("mse", "Mean squared error", SKLEARN + "mean_squared_error")
def squares(rows: Rows) -> Any:
    """Mean squared distance from the truth.

    >>> squares(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.25, 0.0, 1.0]
    """
    return squared_errors(rows)


@NUMBERS.mean(
    "rmsle",
    "Root mean squared logarithmic error",
    SKLEARN + "root_mean_squared_log_error",
    finish=np.sqrt,
    target=Target("number", above=-1.0),
)
def squared_log_errors(rows: Rows) -> Any:
    """For values of very different sizes: errors count in proportion.

    >>> squared_log_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.0498, 0.0, 0.0498]
    """
    for values, where in ((rows.truth, "the solution"), (rows.prediction, "prediction")):
        if np.any(values <= -1):
            raise ScoringInputError("out_of_range", where, "it holds values of -1 or below", "give values above -1")
    return (np.log1p(rows.truth) - np.log1p(rows.prediction)) ** 2


@NUMBERS.whole("median_absolute_error", "Median absolute error", SKLEARN + "median_absolute_error", weighted=False)
def median_absolute_error(rows: Rows) -> float:
    """Half of the rows are nearer; outliers do not count.

    >>> round(median_absolute_error(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.5
    """
    return float(np.median(absolute_errors(rows)))


@NUMBERS.whole("max_error", "Largest error", SKLEARN + "max_error", weighted=False)
def max_error(rows: Rows) -> float:
    """The worst row alone counts.

    >>> round(max_error(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    return float(np.max(absolute_errors(rows)))


@SHARES.mean("mape", "Mean absolute percentage error", SKLEARN + "mean_absolute_percentage_error")
def percentage_errors(rows: Rows) -> Any:
    """Errors as a share of the truth, which should not be near 0.

    Where the truth is 0, it counts as 2.2e-16.

    >>> percentage_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.5, 0.0, 0.25]
    """
    return absolute_errors(rows) / np.maximum(np.abs(rows.truth), np.finfo(np.float64).eps)


@SHARES.mean("rmspe", "Root mean squared percentage error", "formula: sqrt(mean(((y - p) / y)^2))", finish=np.sqrt)
def squared_percentage_errors(rows: Rows) -> Any:
    """Errors as a share of the truth, squared.

    The truth must not be 0.

    >>> squared_percentage_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.25, 0.0, 0.0625]
    """
    if np.any(rows.truth == 0):
        raise no_value("a true value is 0", "choose another metric")
    return (absolute_errors(rows) / rows.truth) ** 2


@SHARES.mean(
    "smape",
    "Symmetric mean absolute percentage error",
    "Makridakis (1993), Int. J. Forecasting 9(4)",
    group="time series",
    range=(0.0, 2.0),
)
def symmetric_percentage_errors(rows: Rows) -> Any:
    """Errors as a share of the mean of truth and prediction.

    0 where both are 0.

    >>> symmetric_percentage_errors(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.4, 0.0, 0.2857]
    """
    size = (np.abs(rows.truth) + np.abs(rows.prediction)) / 2
    return np.where(size > 0, absolute_errors(rows) / np.where(size > 0, size, 1.0), 0.0)


@SHARES.whole("wape", "Weighted absolute percentage error", "formula: sum|y - p| / sum|y|", group="time series")
def weighted_percentage_error(rows: Rows) -> float:
    """Sum of the errors over the sum of the truth.

    >>> round(weighted_percentage_error(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.2143
    """
    size = rows.mean(np.abs(rows.truth))
    if size == 0:
        raise no_value("all true values are 0", "choose another metric")
    return rows.mean(absolute_errors(rows)) / size


@NUMBERS.mean(
    "huber_loss",
    "Huber loss",
    "scipy.special.huber",
    parameters=(Parameter("delta", "number", 1.0, "from which error on the loss is a line", 1e-9),),
)
def huber_losses(rows: Rows, *, delta: float) -> Any:
    """Squared for small errors, a line for large ones.

    Half the square up to `delta`.

    >>> huber_losses(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), delta=0.5).round(4).tolist()
    [0.125, 0.0, 0.375]
    """
    gap = absolute_errors(rows)
    return np.where(gap <= delta, gap**2 / 2, delta * (gap - delta / 2))


@NUMBERS.mean("log_cosh_loss", "Log-cosh loss", "formula: log(cosh(y - p))")
def log_cosh_losses(rows: Rows) -> Any:
    """Nearly squared for small errors, a line for large ones.

    >>> log_cosh_losses(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.1201, 0.0, 0.4338]
    """
    gap = absolute_errors(rows)
    return gap + np.log1p(np.exp(-2 * gap)) - np.log(2)


@AGREEMENT.whole(
    "r_squared", "R squared", SKLEARN + "r2_score", range=(None, 1.0), words="r2 coefficient of determination"
)
def r_squared(rows: Rows) -> float:
    """Share of the variance that is explained; 0 is the mean.

    1 minus squared errors over squared gaps from the mean.

    >>> round(r_squared(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.7321
    """
    return 1 - rows.mean(squared_errors(rows)) / _spread(rows)


@AGREEMENT.whole("explained_variance", "Explained variance", SKLEARN + "explained_variance_score", range=(None, 1.0))
def explained_variance(rows: Rows) -> float:
    """As R squared; a constant offset costs nothing.

    >>> round(explained_variance(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.75
    """
    gap = rows.truth - rows.prediction
    return 1 - rows.mean((gap - rows.mean(gap)) ** 2) / _spread(rows)


def _spread(rows: Rows) -> float:
    """The variance of the truth."""
    spread = rows.mean((rows.truth - rows.mean(rows.truth)) ** 2)
    # The mean of equal values may differ from them in its last digit.
    if np.ptp(rows.counted().truth) == 0 or spread == 0:
        raise no_value("all true values are equal", "give each part values that differ")
    return spread


def _moments(rows: Rows, truth: Any, prediction: Any) -> tuple[float, float, float]:
    """Variances of both and their covariance."""
    true_gap, gap = truth - rows.mean(truth), prediction - rows.mean(prediction)
    return rows.mean(true_gap**2), rows.mean(gap**2), rows.mean(true_gap * gap)


@AGREEMENT.whole("pearson", "Pearson correlation", "scipy.stats.pearsonr")
def pearson(rows: Rows) -> float:
    """Linear correlation.

    0 for constant predictions.

    >>> round(pearson(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    counted = rows.counted()
    return _correlation(counted, counted.truth, counted.prediction)


def _correlation(rows: Rows, truth: Any, prediction: Any) -> float:
    if np.ptp(truth) == 0:
        raise no_value("all true values are equal", "give each part values that differ")
    true_spread, spread, joint = _moments(rows, _near_one(truth), _near_one(prediction))
    return 0.0 if np.ptp(prediction) == 0 else float(np.clip(joint / np.sqrt(true_spread * spread), -1, 1))


def _near_one(values: Any) -> Any:
    """The values divided by the power of two that leaves them within 1.

    Squares of 1e160 are infinite, those of 1e-170 are 0.
    """
    _, exponent = np.frexp(np.max(np.abs(values)))
    return np.ldexp(np.asarray(values, dtype=np.float64), -exponent)  # a power of two changes no digit


@AGREEMENT.whole("spearman", "Spearman correlation", "scipy.stats.spearmanr", weighted=False)
def spearman(rows: Rows) -> float:
    """Correlation of the ranks: the order alone counts.

    Equal values share their mean rank; 0 for constant predictions.

    >>> round(spearman(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    return _correlation(rows, _ranks(rows.truth), _ranks(rows.prediction))


def _ranks(values: Any) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


@AGREEMENT.whole("kendall", "Kendall's tau", "scipy.stats.kendalltau", weighted=False)
def kendall(rows: Rows) -> float:
    """Pairs in the right order less pairs in the wrong one.

    Kendall's tau-b; 0 for constant predictions.

    >>> round(kendall(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    1.0
    """
    from scipy.stats import kendalltau

    if np.ptp(rows.truth) == 0:
        raise no_value("all true values are equal", "give each part values that differ")
    return 0.0 if np.ptp(rows.prediction) == 0 else float(kendalltau(rows.truth, rows.prediction).statistic)


@AGREEMENT.whole("concordance_correlation", "Concordance correlation", "Lin (1989), Biometrics 45(1)", words="ccc")
def concordance_correlation(rows: Rows) -> float:
    """Correlation that an offset or another scale lowers.

    >>> round(concordance_correlation(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))), 4)
    0.7887
    """
    true_spread, spread, joint = _moments(rows, rows.truth, rows.prediction)
    offset = (rows.mean(rows.truth) - rows.mean(rows.prediction)) ** 2
    if np.ptp([rows.counted().truth, rows.counted().prediction]) == 0 or true_spread + spread + offset == 0:
        raise no_value("all values are equal", "give each part values that differ")
    return 2 * joint / (true_spread + spread + offset)


@COLUMNS.whole("mcrmse", "Mean column RMSE", SKLEARN + "root_mean_squared_error")
def mean_column_rmse(rows: Rows) -> float:
    """Mean over several target columns of their root mean squared errors.

    >>> round(mean_column_rmse(Rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 3.0], [3.0, 4.0]]))), 4)
    0.3536
    """
    return float(np.mean(np.sqrt(np.average(squared_errors(rows), weights=rows.weight, axis=0))))


@COLUMNS.mean("mean_column_mae", "Mean column MAE", SKLEARN + "mean_absolute_error")
def column_absolute_errors(rows: Rows) -> Any:
    """Mean absolute error over several target columns.

    >>> rows = Rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 3.0], [3.0, 4.0]]))
    >>> column_absolute_errors(rows).round(4).tolist()
    [0.5, 0.0]
    """
    return absolute_errors(rows).mean(axis=1)


def _deviances(rows: Rows, power: float) -> Any:
    """Unit deviances of a Tweedie distribution: power 1 is Poisson's, 2 is gamma's."""
    truth, mean = rows.truth.astype(np.float64), rows.prediction.astype(np.float64)
    if np.any(truth < 0) or (power >= 2 and np.any(truth == 0)):
        raise no_value(
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


@DEVIANCES.mean("poisson_deviance", "Poisson deviance", SKLEARN + "mean_poisson_deviance")
def poisson_deviances(rows: Rows) -> Any:
    """For counts: the predictions are means above 0.

    >>> poisson_deviances(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.1891, 0.0, 0.3015]
    """
    return _deviances(rows, 1)


@DEVIANCES.mean("gamma_deviance", "Gamma deviance", SKLEARN + "mean_gamma_deviance", target=Target("number", above=0.0))
def gamma_deviances(rows: Rows) -> Any:
    """For positive amounts: errors count in proportion.

    >>> gamma_deviances(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))).round(4).tolist()
    [0.1443, 0.0, 0.0913]
    """
    return _deviances(rows, 2)


@DEVIANCES.mean(
    "tweedie_deviance",
    "Tweedie deviance",
    SKLEARN + "mean_tweedie_deviance",
    parameters=(Parameter("power", "number", 1.5, "1 is Poisson's, 2 is gamma's", 1.0, 3.0),),
)
def tweedie_deviances(rows: Rows, *, power: float) -> Any:
    """For amounts that are often 0, such as claims.

    >>> tweedie_deviances(Rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])), power=1.5).round(4).tolist()
    [0.165, 0.0, 0.1658]
    """
    return _deviances(rows, power)


@NUMBERS.mean(
    "haversine_km",
    "Mean distance on the earth",
    SKLEARN + "pairwise.haversine_distances",
    group="spatial",
    target=Target("number", ("latitude", "longitude")),
    unit="km",
    words="latitude longitude geo",
)
def distances_km(rows: Rows) -> Any:
    """Great-circle distance of predicted from true places.

    On a sphere of the earth's mean radius.

    >>> distances_km(Rows(np.array([[52.5, 13.4]]), np.array([[48.1, 11.6]]))).round(4).tolist()
    [505.6437]
    """
    latitude, longitude = np.radians(rows.truth).T
    other_latitude, other_longitude = np.radians(rows.prediction).T
    part = np.sin((latitude - other_latitude) / 2) ** 2
    part = part + np.cos(latitude) * np.cos(other_latitude) * np.sin((longitude - other_longitude) / 2) ** 2
    return 2 * _EARTH_KM * np.arcsin(np.sqrt(np.clip(part, 0, 1)))

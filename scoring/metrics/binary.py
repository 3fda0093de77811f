"""Metrics of two classes: the truth is 0 or 1, the prediction a score, a probability or a class."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.metric import SKLEARN, Floats, Parameter, Prediction, Rows, Subject, Target, no_value

_EPSILON: Final = float(np.finfo(np.float64).eps)
BINARY: Final = Subject(
    group="binary", direction="max", target=Target("binary"), prediction=Prediction("number"), perfect=1.0
)
LOSSES: Final = BINARY.but(direction="min", range=(0.0, None), prediction=Prediction("probability"), perfect=0.0)
LABELS: Final = BINARY.but(prediction=Prediction("binary"))


def area_under_roc(positives: NDArray[Any], negatives: NDArray[Any]) -> float:
    """Area under the ROC curve: pairs won plus half the pairs tied, over all pairs.

    An exact count: the scores of the smaller side are looked up in the sorted scores of the other, so ties, -0.0 and
    values that differ in the last bit behave as in scikit-learn, without its checks per call.

    >>> area_under_roc(np.array([0.9, 0.4]), np.array([0.1, 0.4, 0.3]))
    0.9166666666666666
    """
    few, many = sorted((positives, negatives), key=len)
    few, many = np.sort(few), np.sort(many)  # sorted needles too: the look-ups then walk through memory
    below = int(np.searchsorted(many, few, "left").sum()) + int(np.searchsorted(many, few, "right").sum())
    pairs = 2 * positives.size * negatives.size
    return (below if positives.size <= negatives.size else pairs - below) / pairs


def step_precision(positives: NDArray[Any], negatives: NDArray[Any]) -> float:
    """Mean over the positives of the precision at their own score: the step-wise sum, ties included.

    >>> step_precision(np.array([0.35, 0.8]), np.array([0.1, 0.4]))
    0.8333333333333333
    """
    positives, negatives = np.sort(positives), np.sort(negatives)
    hits = positives.size - np.searchsorted(positives, positives, "left")
    false_alarms = negatives.size - np.searchsorted(negatives, positives, "left")
    return float(np.mean(hits / (hits + false_alarms)))


def _by_truth(rows: Rows) -> tuple[NDArray[Any], NDArray[Any]]:
    """The predictions of the positives, and those of the negatives."""
    return rows.prediction[rows.truth == 1], rows.prediction[rows.truth != 1]


def _require_both(rows: Rows) -> None:
    counted = rows.counted().truth
    if not 0 < np.count_nonzero(counted == 1) < len(counted):
        raise no_value("only one of the two classes occurs", "give each part rows of both")


@BINARY.whole("roc_auc", "ROC AUC", SKLEARN + "roc_auc_score", words="area under the curve auroc")
def roc_auc(rows: Rows) -> float:
    """Chance that a positive scores above a negative; ties count half.

    >>> round(roc_auc(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))), 4)
    0.75
    """
    _require_both(rows)
    if rows.weight is None:
        return area_under_roc(*_by_truth(rows))
    from sklearn.metrics import roc_auc_score  # here, because loading it takes longer than scoring most files

    return float(roc_auc_score(rows.truth, rows.prediction, sample_weight=rows.weight))


@BINARY.whole("gini", "Gini coefficient", SKLEARN + "roc_auc_score", range=(-1.0, 1.0), words="normalized gini")
def gini(rows: Rows) -> float:
    """Twice the ROC AUC minus 1: 0 is chance.

    >>> round(gini(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))), 4)
    0.5
    """
    return 2 * roc_auc(rows) - 1


@BINARY.whole(
    "partial_roc_auc",
    "Partial ROC AUC",
    SKLEARN + "roc_auc_score(max_fpr)",
    parameters=(Parameter("max_fpr", "number", 0.2, "highest false-positive rate", 1e-6, 1.0),),
)
def partial_roc_auc(rows: Rows, *, max_fpr: float) -> float:
    """ROC AUC at low false-positive rates, rescaled so that chance is 0.5.

    >>> round(partial_roc_auc(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5])), max_fpr=0.5), 4)
    0.6667
    """
    from sklearn.metrics import roc_auc_score

    _require_both(rows)
    return float(roc_auc_score(rows.truth, rows.prediction, max_fpr=max_fpr, sample_weight=rows.weight))


@BINARY.whole("average_precision", "Average precision", SKLEARN + "average_precision_score", words="pr auc auprc")
def average_precision(rows: Rows) -> float:
    """Mean precision at each positive's rank: the area under the precision-recall curve.

    Step-wise: equal scores are one threshold.

    >>> round(average_precision(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))), 4)
    0.8333
    """
    _require_both(rows)
    if rows.weight is None:
        return step_precision(*_by_truth(rows))
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(rows.truth, rows.prediction, sample_weight=rows.weight))


@LOSSES.mean("log_loss", "Log loss", SKLEARN + "log_loss", words="binary cross entropy")
def log_losses(rows: Rows) -> Floats:
    """Mean of minus the logarithm of the probability given to the truth.

    Probabilities are clipped by 2.2e-16.

    >>> log_losses(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))).round(4).tolist()
    [0.2231, 0.1054, 0.9163, 0.6931]
    """
    probability = np.clip(rows.prediction.astype(np.float64), _EPSILON, 1 - _EPSILON)
    return -np.log(np.where(rows.truth == 1, probability, 1 - probability))


@BINARY.mean(
    "brier_score",
    "Brier score",
    SKLEARN + "brier_score_loss",
    direction="min",
    prediction=Prediction("probability"),
    perfect=0.0,
    words="calibration",
)
def brier_losses(rows: Rows) -> Floats:
    """Mean squared difference of probability and truth.

    >>> brier_losses(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))).round(4).tolist()
    [0.04, 0.01, 0.36, 0.25]
    """
    return np.asarray((rows.prediction.astype(np.float64) - rows.truth) ** 2, dtype=np.float64)


@BINARY.whole("ks_statistic", "Kolmogorov-Smirnov statistic", "scipy.stats.ks_2samp", words="youden")
def ks_statistic(rows: Rows) -> float:
    """Largest gap between true- and false-positive rate, whichever is larger.

    >>> round(ks_statistic(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))), 4)
    0.5
    """
    from sklearn.metrics import roc_curve

    _require_both(rows)
    false_rate, true_rate, _ = roc_curve(rows.truth, rows.prediction, sample_weight=rows.weight)
    return float(np.max(np.abs(true_rate - false_rate)))


def _table(rows: Rows) -> tuple[float, float, float, float]:
    """True positives, false positives, false negatives, true negatives."""
    weight = np.ones(len(rows.truth)) if rows.weight is None else rows.weight
    cells = np.bincount(2 * rows.truth.astype(np.int64) + rows.prediction.astype(np.int64), weight, 4)
    return float(cells[3]), float(cells[1]), float(cells[2]), float(cells[0])


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


@LABELS.whole(
    "f_beta",
    "F score",
    SKLEARN + "fbeta_score",
    parameters=(Parameter("beta", "number", 1.0, "how many times recall counts as much as precision", 0.01, 100.0),),
    words="f1 f2 fbeta",
)
def f_beta(rows: Rows, *, beta: float) -> float:
    """Harmonic mean of precision and recall of the class 1; beta 1 weighs both alike.

    >>> round(f_beta(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])), beta=1.0), 4)
    0.6667
    """
    hits, alarms, missed, _ = _table(rows)
    square = beta**2
    return _share((1 + square) * hits, (1 + square) * hits + square * missed + alarms)


@LABELS.whole("precision", "Precision", SKLEARN + "precision_score")
def precision(rows: Rows) -> float:
    """Share of the predicted positives that are positive.

    >>> round(precision(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))), 4)
    1.0
    """
    hits, alarms, _, _ = _table(rows)
    return _share(hits, hits + alarms)


@LABELS.whole("recall", "Recall", SKLEARN + "recall_score", words="sensitivity")
def recall(rows: Rows) -> float:
    """Share of the positives that were found.

    >>> round(recall(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))), 4)
    0.5
    """
    hits, _, missed, _ = _table(rows)
    return _share(hits, hits + missed)


@LABELS.whole("specificity", "Specificity", SKLEARN + "recall_score(pos_label=0)", words="true negative rate")
def specificity(rows: Rows) -> float:
    """Share of the negatives that were left alone.

    >>> round(specificity(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))), 4)
    1.0
    """
    _, alarms, _, rejected = _table(rows)
    return _share(rejected, rejected + alarms)

"""Metrics of two classes: the truth is 0 or 1, the prediction a score, a probability or a class."""

from __future__ import annotations

from typing import Final

import numpy as np

import scoring
from scoring.tables.metrics.base import Floats, Parameter, Prediction, Rows, TableMetric, Target, undefined

_TARGET: Final = Target("binary")
_SCORE, _PROBABILITY, _CLASS = Prediction("number"), Prediction("probability"), Prediction("binary")
_SKLEARN: Final = "scikit-learn: sklearn.metrics."
_EPSILON: Final = float(np.finfo(np.float64).eps)


def _require_both(rows: Rows) -> None:
    counted = rows.truth if rows.weight is None else rows.truth[rows.weight > 0]
    if not 0 < np.count_nonzero(counted == 1) < len(counted):
        raise undefined("only one of the two classes occurs", "give each part rows of both")


def roc_auc(rows: Rows) -> float:
    """Area under the ROC curve: the chance that a positive scores above a negative, ties counting half.

    >>> round(roc_auc(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))), 4)
    0.75
    """
    _require_both(rows)
    if rows.weight is None:
        return scoring.roc_auc(rows.truth, rows.prediction)
    from sklearn.metrics import roc_auc_score  # here, because loading it takes longer than scoring most files

    return float(roc_auc_score(rows.truth, rows.prediction, sample_weight=rows.weight))


def partial_roc_auc(rows: Rows, *, max_fpr: float) -> float:
    """Area under the ROC curve up to a false-positive rate, rescaled so that chance is 0.5 (McClish 1989).

    >>> round(partial_roc_auc(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5])), max_fpr=0.5), 4)
    0.6667
    """
    from sklearn.metrics import roc_auc_score

    _require_both(rows)
    return float(roc_auc_score(rows.truth, rows.prediction, max_fpr=max_fpr, sample_weight=rows.weight))


def average_precision(rows: Rows) -> float:
    """Step-wise average precision.

    >>> round(average_precision(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))), 4)
    0.8333
    """
    _require_both(rows)
    if rows.weight is None:
        return scoring.average_precision(rows.truth, rows.prediction)
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(rows.truth, rows.prediction, sample_weight=rows.weight))


def log_losses(rows: Rows) -> Floats:
    """Minus the logarithm of the probability that was given to what is true; probabilities are clipped by 2.2e-16.

    >>> log_losses(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))).round(4).tolist()
    [0.2231, 0.1054, 0.9163, 0.6931]
    """
    probability = np.clip(rows.prediction.astype(np.float64), _EPSILON, 1 - _EPSILON)
    return -np.log(np.where(rows.truth == 1, probability, 1 - probability))


def brier_losses(rows: Rows) -> Floats:
    """Squared differences of probability and truth.

    >>> brier_losses(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))).round(4).tolist()
    [0.04, 0.01, 0.36, 0.25]
    """
    return np.asarray((rows.prediction.astype(np.float64) - rows.truth) ** 2, dtype=np.float64)


def ks_statistic(rows: Rows) -> float:
    """Largest gap between the true- and the false-positive rate (Kolmogorov and Smirnov).

    >>> round(ks_statistic(Rows(np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.5]))), 4)
    0.5
    """
    from sklearn.metrics import roc_curve

    _require_both(rows)
    false_rate, true_rate, _ = roc_curve(rows.truth, rows.prediction, sample_weight=rows.weight)
    return float(np.max(true_rate - false_rate))


def _table(rows: Rows) -> tuple[float, float, float, float]:
    """True positives, false positives, false negatives, true negatives."""
    weight = np.ones(len(rows.truth)) if rows.weight is None else rows.weight
    cells = np.bincount(2 * rows.truth.astype(np.int64) + rows.prediction.astype(np.int64), weight, 4)
    return float(cells[3]), float(cells[1]), float(cells[2]), float(cells[0])


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def f_beta(rows: Rows, *, beta: float) -> float:
    """F of precision and recall, recall counting `beta` times as much.

    >>> round(f_beta(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])), beta=1.0), 4)
    0.6667
    """
    hits, alarms, missed, _ = _table(rows)
    square = beta**2
    return _share((1 + square) * hits, (1 + square) * hits + square * missed + alarms)


def precision(rows: Rows) -> float:
    """Share of the predicted positives that are positive.

    >>> round(precision(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))), 4)
    1.0
    """
    hits, alarms, _, _ = _table(rows)
    return _share(hits, hits + alarms)


def recall(rows: Rows) -> float:
    """Share of the positives that were found.

    >>> round(recall(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))), 4)
    0.5
    """
    hits, _, missed, _ = _table(rows)
    return _share(hits, hits + missed)


def specificity(rows: Rows) -> float:
    """Share of the negatives that were left alone.

    >>> round(specificity(Rows(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))), 4)
    1.0
    """
    _, alarms, _, rejected = _table(rows)
    return _share(rejected, rejected + alarms)


METRICS: Final = (
    TableMetric(
        "roc_auc", "ROC AUC", "binary", "Chance that a positive scores above a negative; ties count half.", "max", (0.0, 1.0),
        _TARGET, _SCORE, _SKLEARN + "roc_auc_score", roc_auc, perfect=1.0, words="area under the curve auroc",
    ),
    TableMetric(
        "gini", "Gini coefficient", "binary", "Twice the ROC AUC minus 1: 0 is chance.", "max", (-1.0, 1.0), _TARGET, _SCORE,
        _SKLEARN + "roc_auc_score", lambda rows: 2 * roc_auc(rows) - 1, perfect=1.0, words="normalized gini",
    ),
    TableMetric(
        "partial_roc_auc", "Partial ROC AUC", "binary", "ROC AUC at low false-positive rates, rescaled so that chance is 0.5.",
        "max", (0.0, 1.0), _TARGET, _SCORE, _SKLEARN + "roc_auc_score(max_fpr)", partial_roc_auc, perfect=1.0,
        parameters=(Parameter("max_fpr", "number", 0.2, "highest false-positive rate", 1e-6, 1.0),),
    ),
    TableMetric(
        "average_precision", "Average precision", "binary",
        "Mean precision at each positive's rank: the area under the precision-recall curve.", "max", (0.0, 1.0), _TARGET, _SCORE,
        _SKLEARN + "average_precision_score", average_precision, perfect=1.0, words="pr auc auprc",
    ),
    TableMetric(
        "log_loss", "Log loss", "binary", "Mean of minus the logarithm of the probability given to the truth.", "min",
        (0.0, None), _TARGET, _PROBABILITY, _SKLEARN + "log_loss", per_row=log_losses, perfect=0.0, words="binary cross entropy",
    ),
    TableMetric(
        "brier_score", "Brier score", "binary", "Mean squared difference of probability and truth.", "min", (0.0, 1.0), _TARGET,
        _PROBABILITY, _SKLEARN + "brier_score_loss", per_row=brier_losses, perfect=0.0, words="calibration",
    ),
    TableMetric(
        "ks_statistic", "Kolmogorov-Smirnov statistic", "binary", "Largest gap between true- and false-positive rate.", "max",
        (0.0, 1.0), _TARGET, _SCORE, "scipy.stats.ks_2samp", ks_statistic, perfect=1.0, words="youden",
    ),
    TableMetric(
        "f_beta", "F score", "binary", "Harmonic mean of precision and recall of the class 1; beta 1 weighs both alike.", "max",
        (0.0, 1.0), _TARGET, _CLASS, _SKLEARN + "fbeta_score", f_beta, perfect=1.0, words="f1 f2 fbeta",
        parameters=(Parameter("beta", "number", 1.0, "how many times recall counts as much as precision", 0.01, 100.0),),
    ),
    TableMetric(
        "precision", "Precision", "binary", "Share of the predicted positives that are positive.", "max", (0.0, 1.0), _TARGET,
        _CLASS, _SKLEARN + "precision_score", precision, perfect=1.0,
    ),
    TableMetric(
        "recall", "Recall", "binary", "Share of the positives that were found.", "max", (0.0, 1.0), _TARGET, _CLASS,
        _SKLEARN + "recall_score", recall, perfect=1.0, words="sensitivity",
    ),
    TableMetric(
        "specificity", "Specificity", "binary", "Share of the negatives that were left alone.", "max", (0.0, 1.0), _TARGET,
        _CLASS, _SKLEARN + "recall_score(pos_label=0)", specificity, perfect=1.0, words="true negative rate",
    ),
)  # fmt: skip
"""The metrics of two classes."""

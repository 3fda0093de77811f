"""Metrics of several labels a row: each target column is 0 or 1, each prediction column a probability or 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from scoring.errors import ScoringInputError
from scoring.tables.metrics import binary
from scoring.tables.metrics.base import Floats, Prediction, Rows, TableMetric, Target, undefined

_TARGET: Final = Target("binary", several=True)
_SCORES, _PROBABILITIES, _LABELS = Prediction("number"), Prediction("probability"), Prediction("binary")
_SKLEARN: Final = "scikit-learn: sklearn.metrics."


def _mean_over_columns(metric: Callable[[Rows], float], rows: Rows) -> float:
    """The mean over the columns on which the metric has a value."""
    scores = []
    for place in range(rows.truth.shape[1]):
        try:
            scores.append(metric(Rows(rows.truth[:, place], rows.prediction[:, place], rows.weight)))
        except ScoringInputError as error:
            if error.code != "no_scorable_task":
                raise
    if not scores:
        raise undefined("no column holds both 0 and 1", "give each part rows of both")
    return sum(scores) / len(scores)


def mean_roc_auc(rows: Rows) -> float:
    """Mean ROC AUC of the columns that hold both 0 and 1.

    >>> round(mean_roc_auc(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))), 4)
    1.0
    """
    return _mean_over_columns(binary.roc_auc, rows)


def mean_average_precision(rows: Rows) -> float:
    """Mean average precision of the columns that hold both 0 and 1.

    >>> round(mean_average_precision(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))), 4)
    1.0
    """
    return _mean_over_columns(binary.average_precision, rows)


def column_log_losses(rows: Rows) -> Floats:
    """Each row's log loss, the mean over its columns.

    >>> column_log_losses(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))).round(4).tolist()
    [0.1643, 0.8574]
    """
    return np.asarray(binary.log_losses(rows).mean(axis=1), dtype=np.float64)


def hamming_losses(rows: Rows) -> Any:
    """Each row's share of wrong labels.

    >>> hamming_losses(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).round(4).tolist()
    [0.0, 0.5]
    """
    return (rows.truth != rows.prediction).mean(axis=1)


def exact_rows(rows: Rows) -> Any:
    """Rows whose labels are all right.

    >>> exact_rows(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).tolist()
    [True, False]
    """
    return (rows.truth == rows.prediction).all(axis=1)


def _overlap(rows: Rows) -> tuple[Floats, Floats, Floats]:
    truth, prediction = rows.truth == 1, rows.prediction == 1
    both = (truth & prediction).sum(axis=1).astype(np.float64)
    return both, truth.sum(axis=1).astype(np.float64), prediction.sum(axis=1).astype(np.float64)


def sample_f1(rows: Rows) -> Floats:
    """Each row's F1 of its labels; 0 where neither truth nor prediction has one.

    >>> sample_f1(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).round(4).tolist()
    [1.0, 0.6667]
    """
    both, true, predicted = _overlap(rows)
    return 2 * both / np.maximum(true + predicted, 1)


def jaccard(rows: Rows) -> Floats:
    """Each row's intersection over union of its labels; 0 where neither truth nor prediction has one.

    >>> jaccard(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).round(4).tolist()
    [1.0, 0.5]
    """
    both, true, predicted = _overlap(rows)
    return both / np.maximum(true + predicted - both, 1)


def macro_f1(rows: Rows) -> float:
    """Mean over the columns of their F1; 0 for a column without a 1 in truth and prediction.

    >>> round(macro_f1(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))), 4)
    0.8333
    """
    return _mean_over_columns(lambda column: binary.f_beta(column, beta=1.0), rows)


def micro_f1(rows: Rows) -> float:
    """F1 of all cells together.

    >>> round(micro_f1(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))), 4)
    0.8
    """
    weight = None if rows.weight is None else np.repeat(rows.weight, rows.truth.shape[1])
    return binary.f_beta(Rows(rows.truth.ravel(), rows.prediction.ravel(), weight), beta=1.0)


def ranking_precision(rows: Rows) -> float:
    """Label ranking average precision: how many of the labels above each true one are true.

    >>> round(ranking_precision(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))), 4)
    0.75
    """
    from sklearn.metrics import label_ranking_average_precision_score

    return float(label_ranking_average_precision_score(rows.truth, rows.prediction, sample_weight=rows.weight))


def _metric(name: str, title: str, text: str, prediction: Prediction, source: str, **more: Any) -> TableMetric:
    settings: dict[str, Any] = {"direction": "max", "range": (0.0, 1.0), "perfect": 1.0} | more
    return TableMetric(
        name=name,
        title=title,
        group="multi-label",
        help=text,
        target=_TARGET,
        prediction=prediction,
        source=_SKLEARN + source,
        **settings,
    )


METRICS: Final = (
    _metric(
        "mean_roc_auc", "Mean column ROC AUC", "Mean ROC AUC of the label columns.", _SCORES, "roc_auc_score(average='macro')",
        function=mean_roc_auc, words="columnwise",
    ),
    _metric(
        "mean_average_precision", "Mean column average precision", "Mean average precision of the label columns.", _SCORES,
        "average_precision_score(average='macro')", function=mean_average_precision, words="map cmap",
    ),
    _metric(
        "mean_log_loss", "Mean column log loss", "Mean log loss of the label columns.", _PROBABILITIES, "log_loss",
        per_row=column_log_losses, direction="min", range=(0.0, None), perfect=0.0, words="columnwise cross entropy",
    ),
    _metric(
        "hamming_loss", "Hamming loss", "Share of the labels that are wrong.", _LABELS, "hamming_loss", per_row=hamming_losses,
        direction="min", perfect=0.0,
    ),
    _metric(
        "subset_accuracy", "Exact match of all labels", "Share of the rows whose labels are all right.", _LABELS,
        "accuracy_score", per_row=exact_rows,
    ),
    _metric(
        "sample_f1", "F1 per row", "Mean over the rows of the F1 of their labels.", _LABELS, "f1_score(average='samples')",
        per_row=sample_f1, perfect=None, words="mean f1",
    ),
    _metric(
        "jaccard", "Jaccard index per row", "Mean over the rows of intersection over union of their labels.", _LABELS,
        "jaccard_score(average='samples')", per_row=jaccard, perfect=None,
    ),
    _metric(
        "label_macro_f1", "Macro F1 of the labels", "Mean F1 of the label columns.", _LABELS, "f1_score(average='macro')",
        function=macro_f1, perfect=None,
    ),
    _metric(
        "label_micro_f1", "Micro F1 of the labels", "F1 of all cells together.", _LABELS, "f1_score(average='micro')",
        function=micro_f1,
    ),
    _metric(
        "ranking_average_precision", "Label ranking average precision",
        "How many of the labels ranked above each true one are true.", _SCORES, "label_ranking_average_precision_score",
        function=ranking_precision, words="lrap lwlrap",
    ),
)  # fmt: skip
"""The metrics of several labels a row."""

"""Metrics of several labels a row.

Each target column is 0 or 1, each prediction column a probability or 0 and 1.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from scoring.errors import ScoringInputError
from scoring.metrics import binary
from scoring.metrics.metric import SKLEARN, Floats, Prediction, Rows, Subject, Target, no_value

LABELS: Final = Subject(
    group="multi-label",
    direction="max",
    target=Target("binary", several=True),
    prediction=Prediction("binary"),
    perfect=1.0,
)
SCORES: Final = LABELS.but(prediction=Prediction("number"))


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
        raise no_value("no column holds both 0 and 1", "give each part rows of both")
    return sum(scores) / len(scores)


@SCORES.whole("mean_roc_auc", "Mean column ROC AUC", SKLEARN + "roc_auc_score(average='macro')", words="columnwise")
def mean_roc_auc(rows: Rows) -> float:
    """Mean ROC AUC of the label columns.

    Columns without both 0 and 1 are left out.

    >>> round(mean_roc_auc(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))), 4)
    1.0
    """
    return _mean_over_columns(binary.roc_auc, rows)


@SCORES.whole(
    "mean_average_precision",
    "Mean column average precision",
    SKLEARN + "average_precision_score(average='macro')",
    words="map cmap",
)
def mean_average_precision(rows: Rows) -> float:
    """Mean average precision of the label columns.

    Columns without both 0 and 1 are left out.

    >>> round(mean_average_precision(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))), 4)
    1.0
    """
    return _mean_over_columns(binary.average_precision, rows)


@LABELS.mean(
    "mean_log_loss",
    "Mean column log loss",
    SKLEARN + "log_loss",
    direction="min",
    range=(0.0, None),
    prediction=Prediction("probability"),
    perfect=0.0,
    words="columnwise cross entropy",
)
def column_log_losses(rows: Rows) -> Floats:
    """Mean log loss of the label columns.

    >>> column_log_losses(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))).round(4).tolist()
    [0.1643, 0.8574]
    """
    return np.asarray(binary.log_losses(rows).mean(axis=1), dtype=np.float64)


@LABELS.mean("hamming_loss", "Hamming loss", SKLEARN + "hamming_loss", direction="min", perfect=0.0)
def hamming_losses(rows: Rows) -> Any:
    """Share of the labels that are wrong.

    >>> hamming_losses(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).round(4).tolist()
    [0.0, 0.5]
    """
    return (rows.truth != rows.prediction).mean(axis=1)


@LABELS.mean("subset_accuracy", "Exact match of all labels", SKLEARN + "accuracy_score")
def exact_rows(rows: Rows) -> Any:
    """Share of the rows whose labels are all right.

    >>> exact_rows(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).tolist()
    [True, False]
    """
    return (rows.truth == rows.prediction).all(axis=1)


def _overlap(rows: Rows) -> tuple[Floats, Floats, Floats]:
    truth, prediction = rows.truth == 1, rows.prediction == 1
    both = (truth & prediction).sum(axis=1).astype(np.float64)
    return both, truth.sum(axis=1).astype(np.float64), prediction.sum(axis=1).astype(np.float64)


@LABELS.mean("sample_f1", "F1 per row", SKLEARN + "f1_score(average='samples')", perfect=None, words="mean f1")
def sample_f1(rows: Rows) -> Floats:
    """Mean over the rows of the F1 of their labels.

    0 where neither truth nor prediction has a label.

    >>> sample_f1(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).round(4).tolist()
    [1.0, 0.6667]
    """
    both, true, predicted = _overlap(rows)
    return 2 * both / np.maximum(true + predicted, 1)


@LABELS.mean("jaccard", "Jaccard index per row", SKLEARN + "jaccard_score(average='samples')", perfect=None)
def jaccard(rows: Rows) -> Floats:
    """Mean over the rows of intersection over union of their labels.

    0 where neither truth nor prediction has a label.

    >>> jaccard(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))).round(4).tolist()
    [1.0, 0.5]
    """
    both, true, predicted = _overlap(rows)
    return both / np.maximum(true + predicted - both, 1)


@LABELS.whole("label_macro_f1", "Macro F1 of the labels", SKLEARN + "f1_score(average='macro')", perfect=None)
def macro_f1(rows: Rows) -> float:
    """Mean F1 of the label columns.

    0 for a column without a 1 in truth and prediction.

    >>> round(macro_f1(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))), 4)
    0.8333
    """
    return _mean_over_columns(lambda column: binary.f_beta(column, beta=1.0), rows)


@LABELS.whole("label_micro_f1", "Micro F1 of the labels", SKLEARN + "f1_score(average='micro')")
def micro_f1(rows: Rows) -> float:
    """F1 of all cells together.

    >>> round(micro_f1(Rows(np.array([[1, 0], [0, 1]]), np.array([[1, 0], [1, 1]]))), 4)
    0.8
    """
    weight = None if rows.weight is None else np.repeat(rows.weight, rows.truth.shape[1])
    return binary.f_beta(Rows(rows.truth.ravel(), rows.prediction.ravel(), weight), beta=1.0)


@SCORES.whole(
    "ranking_average_precision",
    "Label ranking average precision",
    SKLEARN + "label_ranking_average_precision_score",
    words="lrap lwlrap",
)
def ranking_precision(rows: Rows) -> float:
    """Share of true labels among those ranked above each true one.

    >>> round(ranking_precision(Rows(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.4, 0.3]]))), 4)
    0.75
    """
    from sklearn.metrics import label_ranking_average_precision_score

    return float(label_ranking_average_precision_score(rows.truth, rows.prediction, sample_weight=rows.weight))

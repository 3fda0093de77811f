"""Metrics of several classes: the truth is a class, the prediction a class or a probability for each."""

from typing import Any, Final

import numpy as np

from scoring.metrics.metric import SKLEARN, Floats, Parameter, Prediction, Rows, Subject, Target, no_value

_EPSILON: Final = float(np.finfo(np.float64).eps)
CLASSES: Final = Subject(
    group="multi-class", direction="max", target=Target("class"), prediction=Prediction("class"), perfect=1.0
)
AGREEMENT: Final = CLASSES.but(range=(-1.0, 1.0))
PROBABILITIES: Final = CLASSES.but(prediction=Prediction("probability", "per class"))
LOSSES: Final = PROBABILITIES.but(direction="min", range=(0.0, None), perfect=0.0)


@CLASSES.mean("accuracy", "Accuracy", SKLEARN + "accuracy_score")
def hits(rows: Rows) -> Any:
    """Share of the rows whose class is right.

    >>> hits(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3)).tolist()
    [True, True, False, True]
    """
    return rows.truth == rows.prediction


def _confusion(rows: Rows) -> Floats:
    """Weights of (true class, predicted class)."""
    places = rows.truth.astype(np.int64) * rows.classes + rows.prediction.astype(np.int64)
    counts = np.bincount(places, rows.weight, rows.classes**2).astype(np.float64)
    return counts.reshape(rows.classes, rows.classes)


@CLASSES.whole("balanced_accuracy", "Balanced accuracy", SKLEARN + "balanced_accuracy_score", words="macro recall")
def balanced_accuracy(rows: Rows) -> float:
    """Mean share found of each class: rare classes count as much as frequent ones.

    The mean is over the classes that occur in the truth.

    >>> round(balanced_accuracy(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3)), 4)
    0.6667
    """
    table = _confusion(rows)
    sizes = table.sum(axis=1)
    return float(np.mean(np.diag(table)[sizes > 0] / sizes[sizes > 0]))


def _class_f1(rows: Rows) -> tuple[Floats, Floats]:
    """F1 and true weight of each class that occurs in truth or prediction."""
    table = _confusion(rows)
    true, predicted = table.sum(axis=1), table.sum(axis=0)
    there = true + predicted > 0
    return 2 * np.diag(table)[there] / (true + predicted)[there], true[there]


@CLASSES.whole("macro_f1", "Macro F1", SKLEARN + "f1_score(average='macro')")
def macro_f1(rows: Rows) -> float:
    """Mean F1 of the classes.

    The mean is over the classes that occur in truth or prediction.

    >>> round(macro_f1(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3)), 4)
    0.6
    """
    return float(np.mean(_class_f1(rows)[0]))


@CLASSES.whole("weighted_f1", "Weighted F1", SKLEARN + "f1_score(average='weighted')")
def weighted_f1(rows: Rows) -> float:
    """Mean F1 of the classes by size.

    >>> round(weighted_f1(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3)), 4)
    0.65
    """
    scores, sizes = _class_f1(rows)
    return float(np.average(scores, weights=sizes))


@CLASSES.whole("macro_precision", "Macro precision", SKLEARN + "precision_score(average='macro')")
def macro_precision(rows: Rows) -> float:
    """Mean precision of the classes.

    The mean is over the classes that occur in truth or prediction; one never predicted has precision 0.

    >>> round(macro_precision(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3)), 4)
    0.5556
    """
    table = _confusion(rows)
    true, predicted = table.sum(axis=1), table.sum(axis=0)
    there = true + predicted > 0
    return float(np.mean(np.diag(table)[there] / np.where(predicted > 0, predicted, 1.0)[there]))


@AGREEMENT.whole(
    "cohen_kappa",
    "Cohen's kappa",
    SKLEARN + "cohen_kappa_score",
    parameters=(
        Parameter("weights", "choice", "none", "what a mistake costs", choices=("none", "linear", "quadratic")),
    ),
)
def cohen_kappa(rows: Rows, *, weights: str) -> float:
    """Agreement beyond chance.

    With weights, a mistake costs the distance of the classes or its square.

    >>> round(cohen_kappa(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3), weights="linear"), 4)
    0.6
    """
    table = _confusion(rows)
    there = table.sum(axis=0) + table.sum(axis=1) > 0
    table = table[np.ix_(there, there)]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    gaps = np.abs(np.subtract.outer(np.arange(len(table)), np.arange(len(table)))).astype(np.float64)
    cost = {"none": (gaps > 0).astype(np.float64), "linear": gaps, "quadratic": gaps**2}[weights]
    if (cost * expected).sum() == 0:
        raise no_value("only one class occurs", "give each part rows of several")
    return float(1 - (cost * table).sum() / (cost * expected).sum())


@AGREEMENT.whole(
    "quadratic_weighted_kappa",
    "Quadratic weighted kappa",
    SKLEARN + "cohen_kappa_score(weights='quadratic')",
    words="qwk ordinal",
)
def quadratic_kappa(rows: Rows) -> float:
    """Agreement of ordered classes beyond chance; far mistakes cost more.

    >>> round(quadratic_kappa(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3)), 4)
    0.6667
    """
    return cohen_kappa(rows, weights="quadratic")


@AGREEMENT.whole("matthews_correlation", "Matthews correlation", SKLEARN + "matthews_corrcoef", words="mcc phi")
def matthews_correlation(rows: Rows) -> float:
    """Correlation of truth and prediction; fair to rare classes.

    0 where either holds one class alone.

    >>> round(matthews_correlation(Rows(np.array([0, 1, 2, 1]), np.array([0, 1, 1, 1]), classes=3)), 4)
    0.6455
    """
    table = _confusion(rows)
    true, predicted, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    joint = np.trace(table) * total - true @ predicted
    spread = (total**2 - true @ true) * (total**2 - predicted @ predicted)
    return float(joint / np.sqrt(spread)) if spread > 0 else 0.0


@LOSSES.mean("class_log_loss", "Multi-class log loss", SKLEARN + "log_loss", words="cross entropy")
def class_log_losses(rows: Rows) -> Floats:
    """Mean of minus the logarithm of the true class's probability.

    Probabilities are clipped by 2.2e-16.

    >>> class_log_losses(Rows(np.array([0, 1]), np.array([[0.7, 0.3], [0.6, 0.4]]), classes=2)).round(4).tolist()
    [0.3567, 0.9163]
    """
    chosen = np.take_along_axis(rows.prediction, rows.truth.astype(np.int64)[:, np.newaxis], axis=1)[:, 0]
    return -np.log(np.clip(chosen.astype(np.float64), _EPSILON, 1 - _EPSILON))


@PROBABILITIES.mean(
    "class_brier_score",
    "Multi-class Brier score",
    SKLEARN + "brier_score_loss(scale_by_half=False)",
    direction="min",
    range=(0.0, 2.0),
    perfect=0.0,
)
def class_brier_losses(rows: Rows) -> Floats:
    """Squared distance of the probabilities from the truth.

    Squares are summed over the classes.

    >>> class_brier_losses(Rows(np.array([0, 1]), np.array([[0.7, 0.3], [0.6, 0.4]]), classes=2)).round(4).tolist()
    [0.18, 0.72]
    """
    truth = rows.truth[:, np.newaxis] == np.arange(rows.classes)
    return np.asarray(((rows.prediction - truth) ** 2).sum(axis=1), dtype=np.float64)


@PROBABILITIES.whole(
    "macro_roc_auc", "Macro ROC AUC", SKLEARN + "roc_auc_score(multi_class='ovr')", words="one versus rest"
)
def macro_roc_auc(rows: Rows) -> float:
    """Mean ROC AUC of each class against the others.

    Classes that do not occur, or alone, are left out.

    >>> round(macro_roc_auc(Rows(np.array([0, 1]), np.array([[0.7, 0.3], [0.6, 0.4]]), classes=2)), 4)
    1.0
    """
    from sklearn.metrics import roc_auc_score  # here, because loading it takes longer than scoring most files

    scores, rows = [], rows.counted()
    for place in range(rows.classes):
        truth = rows.truth == place
        if 0 < np.count_nonzero(truth) < len(truth):
            scores.append(float(roc_auc_score(truth, rows.prediction[:, place], sample_weight=rows.weight)))
    if not scores:
        raise no_value("only one class occurs", "give each part rows of several")
    return sum(scores) / len(scores)


@PROBABILITIES.mean(
    "top_k_accuracy",
    "Top-k accuracy",
    SKLEARN + "top_k_accuracy_score",
    parameters=(Parameter("k", "integer", 5, "how many classes count", 1, 1000),),
)
def top_k_hits(rows: Rows, *, k: int) -> Any:
    """Share of the rows whose class is among the k most probable.

    Of equal probabilities the later class counts as the higher one.

    >>> top_k_hits(Rows(np.array([0, 1]), np.array([[0.7, 0.3], [0.6, 0.4]]), classes=2), k=1).tolist()
    [True, False]
    """
    best = np.argsort(rows.prediction, axis=1, kind="mergesort")[:, ::-1][:, :k]
    return (best == rows.truth[:, np.newaxis]).any(axis=1)

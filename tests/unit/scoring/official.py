"""The official formulas, written plainly: slow, obvious, and independent of the package under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

AnyArray = NDArray[Any]


def task_means(metric: Callable[[AnyArray, AnyArray], float], y_true: AnyArray, y_pred: AnyArray) -> float | None:
    """Mean over the tasks with both classes, one scikit-learn call each; None where there is no such task."""
    scores = []
    for task in range(y_true.shape[1]):
        labels = y_true[:, task]
        if np.sum(labels == 1) > 0 and np.sum(labels == 0) > 0:
            known = ~np.isnan(labels)
            scores.append(metric(labels[known], y_pred[known, task]))
    return sum(scores) / len(scores) if scores else None


def roc_auc(y_true: AnyArray, y_pred: AnyArray) -> float | None:
    return task_means(roc_auc_score, y_true, y_pred)


def average_precision(y_true: AnyArray, y_pred: AnyArray) -> float | None:
    return task_means(average_precision_score, y_true, y_pred)


def accuracy(y_true: AnyArray, y_pred: AnyArray) -> float:
    shares = []
    for task in range(y_true.shape[1]):
        known = ~np.isnan(y_true[:, task])
        shares.append(float(np.mean(y_true[known, task] == y_pred[known, task])))
    return sum(shares) / len(shares)


def root_mean_squared_error(y_true: AnyArray, y_pred: AnyArray) -> float:
    errors = []
    for task in range(y_true.shape[1]):
        known = ~np.isnan(y_true[:, task])
        errors.append(np.sqrt(((y_true[known, task] - y_pred[known, task]) ** 2).mean()))
    return float(sum(errors) / len(errors))


def hits_at_k(positives: AnyArray, negatives: AnyArray, k: int) -> float:
    if len(negatives) < k:
        return 1.0
    threshold = sorted(negatives.tolist())[-k]
    hits: int = sum(score > threshold for score in positives.tolist())
    return hits / len(positives)


def ranks(positives: AnyArray, negatives: AnyArray) -> list[float]:
    ranks = []
    for positive, row in zip(positives.tolist(), negatives.tolist(), strict=True):
        above = sum(score > positive for score in row)
        at_or_above = sum(score >= positive for score in row)
        ranks.append(1 + 0.5 * (above + at_or_above))
    return ranks


def top10_mrr(predictions: AnyArray, truth: AnyArray) -> float:
    total = 0.0
    for row, tail in zip(predictions.tolist(), truth.tolist(), strict=True):
        real = [entity for entity in row if entity >= 0]
        if len(real) != len(set(real)):
            return 0.0
        if tail in row:
            total += 1 / (row.index(tail) + 1)
    return total / len(truth)


def hits_at_10(heads: AnyArray, tails: AnyArray, triples: AnyArray) -> float:
    hits = sum(h in row for h, row in zip(triples[:, 0].tolist(), heads.tolist(), strict=True))
    hits += sum(t in row for t, row in zip(triples[:, 2].tolist(), tails.tolist(), strict=True))
    return float(np.float32(hits / (2 * len(triples))))

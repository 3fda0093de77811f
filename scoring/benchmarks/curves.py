"""ROC-AUC and average precision over many tasks with missing labels."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.arrays import AnyArray, blocks, is_labelled, numeric, require_ndim, require_rows, require_same_shape
from scoring.benchmarks.parallel import map_in_order
from scoring.errors import ScoringInputError
from scoring.metrics.binary import area_under_roc, step_precision

TaskMetric: TypeAlias = Callable[[AnyArray, AnyArray], float]

_TASKS_AT_A_TIME: Final = 8  # columns copied together: one cache line of float64, so the input is read once


def roc_auc(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Area under the ROC curve, mean over the tasks that hold both classes; from 0 to 1, higher is better.

    It is the chance that a positive scores higher than a negative; a tie counts half.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_tasks)
        1 for positive, 0 for negative, NaN for "not labelled" (left out).
    y_score : array-like of the same shape
        Any real scores, higher for positive, finite where the label counts. Scores are compared in their own type.

    A task without a 1 or without a 0 is left out of the sum *and* of the divisor; its scores are not looked at.
    Large inputs use several cores (see `scoring.benchmarks.parallel`).

    Raises
    ------
    ScoringInputError
        Unequal shapes, no rows, no task with both classes (``no_scorable_task``), a scored task with other labels than
        0 and 1 (``not_binary``), NaN or infinite scores on labelled places of a scored task.

    References: Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27; ogb 1.3.6, which
    calls `sklearn.metrics.roc_auc_score` per task.

    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> roc_auc([[0, 1], [1, float("nan")]], [[0.3, 0.9], [0.3, 0.1]])
    0.5
    """
    return _mean_over_tasks(area_under_roc, y_true, y_score)


def average_precision(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Average precision, mean over the tasks that hold both classes; from 0 to 1, higher is better.

    The step-wise sum over distinct score thresholds of (gain in recall) x precision, not the trapezoid under the curve.
    Equal scores are one threshold, so constant scores give the share of positives.

    Parameters and rules for tasks, NaN labels and errors: as `roc_auc`.

    References: Davis & Goadrich (2006), "The relationship between precision-recall and ROC curves", ICML; ogb 1.3.6,
    which calls `sklearn.metrics.average_precision_score` per task.

    >>> average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8333333333333333
    """
    return _mean_over_tasks(step_precision, y_true, y_score)


def pooled_roc_auc(y_pred_pos: ArrayLike, y_pred_neg: ArrayLike) -> float:
    """ROC-AUC of one pool of positive and one of negative scores; from 0 to 1, higher is better.

    Parameters
    ----------
    y_pred_pos, y_pred_neg : array-like of shape (n_positives,) and (n_negatives,)
        Finite scores; the lengths may differ. They are compared in numpy's common type.

    Raises
    ------
    ScoringInputError
        Not one-dimensional, one side empty, NaN or infinity.

    References: `ogbl-vessel` in ogb 1.3.6. Doubtful there: one empty side gives NaN and a warning; here it is refused.

    >>> pooled_roc_auc([0.9, 0.4], [0.1, 0.4, 0.3])
    0.9166666666666666
    """
    positives, negatives = numeric(y_pred_pos, "y_pred_pos"), numeric(y_pred_neg, "y_pred_neg")
    for scores, name in ((positives, "y_pred_pos"), (negatives, "y_pred_neg")):
        require_ndim(scores, name, 1, "one number per edge")
        require_rows(scores, name)
        _require_finite_scores(scores, name)
    common = np.promote_types(positives.dtype, negatives.dtype)
    return area_under_roc(positives.astype(common, copy=False), negatives.astype(common, copy=False))


def _mean_over_tasks(metric: TaskMetric, y_true: ArrayLike, y_score: ArrayLike) -> float:
    truth, score = numeric(y_true, "y_true"), numeric(y_score, "y_pred")
    require_same_shape(truth, score, ("y_true", "y_pred"))
    if truth.ndim == 1:
        truth, score = truth[:, np.newaxis], score[:, np.newaxis]
    require_ndim(truth, "y_true", 2, "one number per sample, or one per sample and task")
    require_rows(truth, "y_true")

    def score_group(tasks: slice) -> list[float]:
        return list(_task_scores(metric, truth[:, tasks], score[:, tasks], tasks.start))

    groups = map_in_order(score_group, blocks(truth.shape[1], _TASKS_AT_A_TIME), elements=truth.size)
    scores = [value for group in groups for value in group]
    if not scores:
        raise ScoringInputError(
            "no_scorable_task", "y_true", "no task holds both classes", "give at least one task with a 1 and a 0"
        )
    return sum(scores) / len(scores)


def _task_scores(metric: TaskMetric, truth: AnyArray, score: AnyArray, first: int) -> Iterator[float]:
    """The metric of each task that holds both classes; the official ones skip the others, too."""
    pairs = zip(np.ascontiguousarray(truth.T), np.ascontiguousarray(score.T), strict=True)
    for task, (labels, scores) in enumerate(pairs, start=first):
        is_positive, is_negative = labels == 1, labels == 0
        positives, negatives = int(np.count_nonzero(is_positive)), int(np.count_nonzero(is_negative))
        if positives and negatives:
            _require_binary(labels, positives + negatives, task)
            yield metric(_scores_where(is_positive, scores, task), _scores_where(is_negative, scores, task))


def _scores_where(chosen: NDArray[np.bool_], scores: AnyArray, task: int) -> AnyArray:
    picked = scores[chosen]
    _require_finite_scores(picked, f"y_pred, task {task}")
    return picked


def _require_binary(labels: AnyArray, binary: int, task: int) -> None:
    places = int(np.count_nonzero(is_labelled(labels))) if labels.dtype.kind == "f" else labels.size
    if places != binary:
        raise ScoringInputError(
            "not_binary", f"y_true, task {task}", "it holds labels other than 0 and 1", "use 0, 1 and NaN alone"
        )


def _require_finite_scores(scores: NDArray[Any], where: str) -> None:
    if scores.dtype.kind != "f" or np.isfinite(scores).all():
        return
    code, held = ("nan", "NaN") if np.isnan(scores).any() else ("infinite", "infinity")
    raise ScoringInputError(code, where, f"it holds {held} where a score is needed", "give finite scores")

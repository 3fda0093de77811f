"""Accuracy, as the OGB, OGB-LSC and Codabench benchmarks compute it."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from scoring.arrays import (
    AnyArray,
    count_equal,
    is_labelled,
    numeric,
    require_ndim,
    require_rows,
    require_same_shape,
    torch_common_dtype,
)
from scoring.errors import ScoringInputError

NanPrediction = Literal["refuse", "wrong"]


def accuracy(y_true: ArrayLike, y_pred: ArrayLike, *, nan_prediction: NanPrediction = "refuse") -> float:
    """Share of predictions that equal their label, from 0 to 1; higher is better, 1.0 is perfect.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_tasks)
        Labels. A NaN label means "not labelled": the place is left out.
    y_pred : array-like of the same shape
        Predicted classes. Equality is exact, in numpy's common type: 3.0 equals 3, 3.000000001 does not. Classes that
        do not exist are simply wrong.
    nan_prediction : {"refuse", "wrong"}
        How a NaN prediction for a labelled place counts. The official OGB evaluators count it as wrong without a word,
        which hides a broken model; here that has to be asked for.

    With several tasks the result is the mean over the tasks.

    Raises
    ------
    ScoringInputError
        Unequal shapes, no rows, text or objects, a task without any label (``no_labelled_rows``), NaN predictions.

    References: Hu et al. (2020), "Open Graph Benchmark", NeurIPS 33; evaluators of ogb 1.3.6.

    >>> accuracy([0, 1, 2, 3], [0, 1, 2, 0])
    0.75
    >>> accuracy([[1.0], [float("nan")]], [[1], [2]])
    1.0
    """
    truth, prediction = _as_tasks(numeric(y_true, "y_true"), "y_true"), _as_tasks(numeric(y_pred, "y_pred"), "y_pred")
    require_same_shape(truth, prediction, ("y_true", "y_pred"))
    require_rows(truth, "y_true")
    tasks = range(truth.shape[1])
    if nan_prediction == "refuse":
        for task in tasks:
            _refuse_nan_where_labelled(truth[:, task], prediction[:, task])
    return sum(_labelled_share(truth[:, task], prediction[:, task]) for task in tasks) / len(tasks)


def paper_accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Accuracy over *all* places, as MAG240M counts it; from 0 to 1, higher is better, 1.0 is perfect.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_papers,)
        Labels and predicted classes. Unlike in `accuracy` a NaN label stays in the denominator and never matches; so
        does a NaN prediction. The comparison is torch's: an integer against float32 is compared in float32.

    Raises
    ------
    ScoringInputError
        Not one-dimensional, unequal lengths, no rows, types torch cannot compare (uint16, uint32, uint64).

    References: Hu et al. (2021), "OGB-LSC", NeurIPS Datasets and Benchmarks; MAG240MEvaluator of ogb 1.3.6.
    Doubtful there: an unlabelled paper in the reference silently lowers every score.

    >>> paper_accuracy([4.0, float("nan")], [4, 0])
    0.5
    """
    truth, prediction = numeric(y_true, "y_true"), numeric(y_pred, "y_pred")
    require_ndim(truth, "y_true", 1, "one number per paper")
    require_same_shape(truth, prediction, ("y_true", "y_pred"))
    require_rows(truth, "y_true")
    common = torch_common_dtype(truth, prediction, ("y_true", "y_pred"))
    return count_equal(truth, prediction, common) / len(truth)


def _as_tasks(array: AnyArray, name: str) -> AnyArray:
    """One column per task: a one-dimensional array is one task."""
    if array.ndim == 1:
        return array[:, np.newaxis]
    require_ndim(array, name, 2, "one number per sample, or one per sample and task")
    if array.shape[1] == 0:
        raise ScoringInputError("empty_input", name, "it holds no tasks", "give at least one column")
    return array


def _labelled_share(truth: AnyArray, prediction: AnyArray) -> float:
    """Equal places over labelled places of one task; a NaN label equals nothing, so it needs no mask."""
    places = int(np.count_nonzero(is_labelled(truth))) if truth.dtype.kind == "f" else len(truth)
    if places == 0:
        raise ScoringInputError("no_labelled_rows", "y_true", "every label is NaN", "give at least one label")
    return count_equal(truth, prediction) / places


def _refuse_nan_where_labelled(truth: AnyArray, prediction: AnyArray) -> None:
    if prediction.dtype.kind != "f" or not np.isnan(prediction).any():
        return
    if np.any(np.isnan(prediction) & is_labelled(truth)):
        raise ScoringInputError("nan", "y_pred", "it holds NaN", "give a class in every place that is scored")

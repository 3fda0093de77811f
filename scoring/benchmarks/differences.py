"""Mean absolute error and root mean squared error, in the official evaluators' own arithmetic."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scoring.arrays import (
    BLOCK,
    AnyArray,
    blocks,
    is_labelled,
    numeric,
    require_finite,
    require_ndim,
    require_rows,
    require_same_shape,
)
from scoring.errors import ScoringInputError


def mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean of ``|y_true - y_pred|``, in the unit of `y_true` (eV in PCQM4M); lower is better.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Finite numbers in one unit. Nothing is skipped and nothing is clamped. The differences are taken in the common
        type of the two arrays, as the official evaluator does: float64 labels with float32 predictions in float64.

    Raises
    ------
    ScoringInputError
        Not one-dimensional, unequal lengths ((n,) against (n, 1) is never broadcast), no rows, NaN, infinity, values so
        large that the mean is infinite, integers whose difference would wrap around (``inexact``).

    References: Hu et al. (2021), "OGB-LSC", NeurIPS Datasets and Benchmarks; PCQM4Mv2Evaluator of ogb 1.3.6.
    Doubtful there: NaN and infinite scores are returned, and unsigned integers wrap (0 - 1 = 255).

    >>> mean_absolute_error([1.0, 2.0, 4.0], [1.5, 2.0, 3.0])
    0.5
    """
    truth, prediction = numeric(y_true, "y_true"), numeric(y_pred, "y_pred")
    require_ndim(truth, "y_true", 1, "one number per sample")
    require_same_shape(truth, prediction, ("y_true", "y_pred"))
    require_rows(truth, "y_true")
    _require_exact_difference(truth, prediction, squared=False)
    with np.errstate(all="ignore"):  # a NaN, infinity or overflow shows in the result and is looked for then
        total = _total_absolute_difference(truth, prediction)
    return _finite_result(total / len(truth), truth, prediction)


def absolute_errors(y_true: ArrayLike, y_pred: ArrayLike) -> AnyArray:
    """The single ``|y_true - y_pred|``, shape (n_samples,), in the arrays' common type.

    >>> absolute_errors([1.0, 2.0], [1.5, 2.0])
    array([0.5, 0. ])
    """
    mean_absolute_error(y_true, y_pred)  # the same checks and refusals
    differences: AnyArray = np.abs(np.subtract(y_true, y_pred))
    return differences


def root_mean_squared_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Square root of the mean squared difference, in the unit of `y_true`; lower is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_tasks)
        Numbers; a NaN label means "not labelled" and the place is left out.
    y_pred : array-like of the same shape
        Finite wherever there is a label.

    With several tasks: the mean of their errors. The arithmetic stays in the arrays' common type, so two float32 arrays
    give a float32 result.

    Raises
    ------
    ScoringInputError
        Unequal shapes, no rows, a task without any label, NaN or infinity in a labelled place, values so large that the
        result is infinite in the arrays' type, integers that would wrap around (``inexact``).

    References: Hu et al. (2020), "Open Graph Benchmark", NeurIPS 33; ogbg evaluators of ogb 1.3.6.
    Doubtful there: two float32 arrays overflow to infinity from differences of about 1.8e19, int8 wraps around.

    >>> root_mean_squared_error([[1.0], [2.0], [float("nan")]], [[2.0], [4.0], [0.0]])
    1.5811388300841898
    """
    truth, prediction = numeric(y_true, "y_true"), numeric(y_pred, "y_pred")
    require_same_shape(truth, prediction, ("y_true", "y_pred"))
    if truth.ndim == 1:
        truth, prediction = truth[:, np.newaxis], prediction[:, np.newaxis]
    require_ndim(truth, "y_true", 2, "one number per sample, or one per sample and task")
    require_rows(truth, "y_true")
    errors = [_task_rmse(truth[:, task], prediction[:, task]) for task in range(truth.shape[1])]
    if not errors:
        raise ScoringInputError("empty_input", "y_true", "it holds no tasks", "give at least one column")
    return float(sum(errors) / len(errors))


def _task_rmse(truth: AnyArray, prediction: AnyArray) -> Any:
    """One task's error as a numpy scalar of the arrays' own type."""
    chosen = is_labelled(truth)
    truth, prediction = truth[chosen], prediction[chosen]
    if truth.shape[0] == 0:
        raise ScoringInputError("no_labelled_rows", "y_true", "every label is NaN", "give at least one label")
    _require_exact_difference(truth, prediction, squared=True)
    with np.errstate(all="ignore"):
        error = np.sqrt(((truth - prediction) ** 2).mean())
    _finite_result(float(error), truth, prediction)
    return error


def _total_absolute_difference(truth: AnyArray, prediction: AnyArray) -> float:
    """Block by block in one small buffer: the input is read once and nothing of its size is allocated."""
    common = np.promote_types(truth.dtype, prediction.dtype)
    if common == np.float16:  # the official mean is rounded to float16 at the end
        return float(np.mean(np.abs(truth - prediction))) * len(truth)
    buffer = np.empty(min(BLOCK, truth.shape[0]), common)
    total = 0.0
    for part in blocks(truth.shape[0], BLOCK):
        gap = np.subtract(truth[part], prediction[part], out=buffer[: part.stop - part.start])
        total += float(np.add.reduce(np.abs(gap, out=gap)))
    return total


def _finite_result(score: float, truth: AnyArray, prediction: AnyArray) -> float:
    """`score` when it is a number; otherwise the error that names what made it infinite or NaN."""
    if math.isfinite(score):
        return score
    require_finite(truth, "y_true")
    require_finite(prediction, "y_pred")
    raise ScoringInputError(
        "infinite", "y_pred", "its values are so large that the score is infinite", "give values of the labels' size"
    )


def _require_exact_difference(truth: AnyArray, prediction: AnyArray, *, squared: bool) -> None:
    """Refuse integers whose differences (or squares) wrap around in numpy's type for them."""
    common = np.promote_types(truth.dtype, prediction.dtype)
    if common.kind == "f":
        return
    if common.kind == "b":
        raise ScoringInputError("wrong_dtype", "y_pred", "both arrays hold booleans", "give numbers to subtract")
    # float64 bounds are exact enough here: they can only be wrong beyond 2**53, where the limit leaves room to spare
    gap = np.subtract(truth, prediction, dtype=np.float64)
    limit = float(np.iinfo(common).max) / 2 if common.itemsize == 8 else float(np.iinfo(common).max)
    largest = float(np.max(np.abs(gap))) ** (2 if squared else 1)
    if largest > limit or (common.kind == "u" and float(np.min(gap)) < 0):
        raise ScoringInputError(
            "inexact", "y_pred", f"differences wrap around in {common}", "give floats, or integers of a wider type"
        )

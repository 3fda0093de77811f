"""Rankings handed in as the ids of the ten best: WikiKG90M, WikiKG90Mv2 and OpenBioLink 2021."""

from functools import reduce
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.arrays import (
    AnyArray,
    blocks,
    compared_as,
    numeric,
    require_columns,
    require_rows,
    shape_words,
    torch_common_dtype,
)
from scoring.errors import ScoringInputError

K: Final = 10
CANDIDATES: Final = 1001
"""Candidates per query of WikiKG90M (version 1): predictions and truth are positions 0..1000 among them."""

_ROWS: Final = 4096  # ten ids each: 160 to 320 kB at a time


def top10_reciprocal_ranks(t_pred_top10: ArrayLike, t: ArrayLike) -> NDArray[np.float64]:
    """Reciprocal rank of each row's true tail among its ten predictions; 0 where it is absent.

    Parameters
    ----------
    t_pred_top10 : array-like of shape (n_rows, 10)
        Entity ids, best first. Negative ids are padding: they may repeat, and they take up ranks.
    t : array-like of shape (n_rows,) or (n_rows, 1)
        Ids of the true tails, none negative.

    A single row that names one id (>= 0) twice makes *every* value 0, as officially. Ids that do not exist are just
    wrong.

    Raises
    ------
    ScoringInputError
        Width other than 10, unequal numbers of rows, no rows, a negative true tail (it would match padding).

    References: WikiKG90Mv2Evaluator of ogb 1.3.6. Doubtful there: one duplicate zeroes the whole file; float32 ids
    above 2**24 are rounded and may match another entity (followed here, see `scoring.arrays.torch_common_dtype`).

    >>> top10_reciprocal_ranks([[7, 3, -1, -1, -1, -1, -1, -1, -1, -1]], [3])
    array([0.5])
    """
    prediction, truth = _queries(t_pred_top10, t, "t")
    if truth.dtype.kind != "b" and bool((truth < 0).any()):
        raise ScoringInputError("out_of_range", "t", "it holds negative ids", "give an entity id from 0 in every row")
    return _reciprocal_ranks(prediction, truth, ("t_pred_top10", "t"))


def top10_mean_reciprocal_rank(t_pred_top10: ArrayLike, t: ArrayLike) -> float:
    """Mean of `top10_reciprocal_ranks`, from 0 to 1; higher is better, 1.0 is perfect.

    >>> top10_mean_reciprocal_rank([[7, 3, 1, 2, 4, 5, 6, 8, 9, 0], [3, 7, 1, 2, 4, 5, 6, 8, 9, 0]], [3, 3])
    0.75
    """
    return float(np.mean(top10_reciprocal_ranks(t_pred_top10, t)))


def candidate_reciprocal_ranks(t_pred_top10: ArrayLike, t_correct_index: ArrayLike) -> NDArray[np.float64]:
    """Like `top10_reciprocal_ranks`, for positions among a row's 1,001 candidates (WikiKG90M v1).

    Every value on both sides lies in 0..1000; there is no padding.

    Raises
    ------
    ScoringInputError
        As `top10_reciprocal_ranks`, and ``out_of_range``; int8 is refused as officially, because 1001 does not fit.

    References: WikiKG90MEvaluator of ogb 1.3.6.

    >>> candidate_reciprocal_ranks([[7, 3, 1, 2, 4, 5, 6, 8, 9, 1000]], [1000])
    array([0.1])
    """
    prediction, truth = _queries(t_pred_top10, t_correct_index, "t_correct_index")
    for array, name in ((prediction, "t_pred_top10"), (truth, "t_correct_index")):
        if array.dtype == np.int8:
            raise ScoringInputError("wrong_dtype", name, "int8 cannot hold 1000", "use int16 or wider")
        if not bool(((array >= 0) & (array < CANDIDATES)).all()):
            raise ScoringInputError("out_of_range", name, "it holds values outside 0..1000", "give candidate positions")
    return _reciprocal_ranks(prediction, truth, ("t_pred_top10", "t_correct_index"))


def candidate_mean_reciprocal_rank(t_pred_top10: ArrayLike, t_correct_index: ArrayLike) -> float:
    """Mean of `candidate_reciprocal_ranks`, from 0 to 1; higher is better, 1.0 is perfect.

    >>> candidate_mean_reciprocal_rank([[7, 3, 1, 2, 4, 5, 6, 8, 9, 1000]], [3])
    0.5
    """
    return float(np.mean(candidate_reciprocal_ranks(t_pred_top10, t_correct_index)))


def first_row_with_duplicates(ids: ArrayLike) -> int | None:
    """Index of the first row that names one id (>= 0) twice, or None. No row is sorted.

    >>> first_row_with_duplicates([[1, 2, -1, -1], [5, 6, 5, -1]])
    1
    """
    array = numeric(ids, "ids")
    for part in blocks(array.shape[0], _ROWS):
        repeated = _rows_with_duplicates(array[part])
        if repeated.any():
            return int(part.start) + int(np.argmax(repeated))
    return None


def hits_in_top10(
    h_pred_top10: ArrayLike, t_pred_top10: ArrayLike, triples: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """True for each row that holds the true head, and for each that holds the true tail.

    >>> heads, tails = hits_in_top10([[1] * 10], [[2] * 10], [[1, 0, 3]])
    >>> heads.tolist(), tails.tolist()
    ([True], [False])
    """
    known = numeric(triples, "triples")
    require_columns(known, "triples", 3)
    require_rows(known, "triples")
    if known.dtype.kind != "b" and min(known[:, 0].min(), known[:, 2].min()) < 0:
        raise ScoringInputError("out_of_range", "triples", "it holds negative ids", "give entity ids from 0")
    sides = (("h_pred_top10", h_pred_top10, known[:, 0]), ("t_pred_top10", t_pred_top10, known[:, 2]))
    heads, tails = (_rows_that_hold(_top10(given, name, known.shape[0]), truth, name) for name, given, truth in sides)
    return heads, tails


def hits_at_10(h_pred_top10: ArrayLike, t_pred_top10: ArrayLike, triples: ArrayLike) -> float:
    """Share of the 2n queries whose ten predictions hold the true entity; from 0 to 1, higher is better.

    Parameters
    ----------
    h_pred_top10, t_pred_top10 : array-like of shape (n_triples, 10)
        Entity ids for the heads and for the tails. The order inside the ten is irrelevant, -1 pads, an id named several
        times counts once, ids that do not exist are just wrong.
    triples : array-like of shape (n_triples, 3)
        (head, relation, tail) of each test triple, no negative entity.

    The quotient is rounded to float32, as officially. Whether the ten come from a filtered ranking with fair ties
    cannot be seen in the file: that is for the review of the code.

    Raises
    ------
    ScoringInputError
        Width other than 10 or 3, unequal numbers of rows, no rows, negative true entities (they would match padding).

    References: Breit et al. (2020), "OpenBioLink", Bioinformatics 36(13); OBL2021Evaluator of openbiolink 0.1.4.

    >>> hits_at_10([[1] * 10, [4] * 10], [[2] * 10, [9] * 10], [[1, 0, 2], [5, 0, 9]])
    0.75
    """
    heads, tails = hits_in_top10(h_pred_top10, t_pred_top10, triples)
    hits = int(np.count_nonzero(heads)) + int(np.count_nonzero(tails))
    return float(np.float32(hits / (2 * heads.shape[0])))


def _top10(given: ArrayLike, name: str, rows: int) -> AnyArray:
    array = numeric(given, name)
    require_columns(array, name, K)
    if array.shape[0] != rows:
        raise ScoringInputError("wrong_shape", name, f"it has {array.shape[0]} rows", f"give {rows}, one per query")
    return array


def _queries(predictions: ArrayLike, truth: ArrayLike, name: str) -> tuple[AnyArray, AnyArray]:
    """Predictions of shape (n, 10) with their truth of shape (n,); a column (n, 1) of truth is accepted."""
    known = numeric(truth, name)
    if known.ndim == 2 and known.shape[1] == 1:
        known = known[:, 0]
    if known.ndim != 1:
        raise ScoringInputError("wrong_shape", name, f"it is {shape_words(known.shape)}", "give one number per row")
    prediction = _top10(predictions, "t_pred_top10", known.shape[0])
    require_rows(known, name)
    return prediction, known


def _reciprocal_ranks(prediction: AnyArray, truth: AnyArray, names: tuple[str, str]) -> NDArray[np.float64]:
    truth, common = _comparable(prediction, truth, names)
    scores = np.zeros(truth.shape[0])
    if first_row_with_duplicates(prediction) is not None:
        return scores
    for part in blocks(truth.shape[0], _ROWS):
        rows, places = np.divmod(np.flatnonzero(_equal_to_truth(prediction[part], truth[part], common)), K)
        scores[part.start + rows] = 1.0 / (places + 1.0)
    return scores


def _rows_that_hold(prediction: AnyArray, truth: AnyArray, name: str) -> NDArray[np.bool_]:
    truth, common = _comparable(prediction, truth, (name, "triples"))
    hits = np.zeros(truth.shape[0], np.bool_)
    for part in blocks(truth.shape[0], _ROWS):
        # two columns at a time as one 16-bit word: `any` along rows of ten costs ten times as much
        pairs = _equal_to_truth(prediction[part], truth[part], common).view(np.uint16).reshape(-1, K // 2)
        hits[part] = reduce(np.bitwise_or, pairs.T) != 0
    return hits


def _comparable(prediction: AnyArray, truth: AnyArray, names: tuple[str, str]) -> tuple[AnyArray, np.dtype[Any]]:
    """The truth and the type to compare in.

    That is the predictions' own integers where they can hold the truth: there are ten predictions to convert for each id.
    """
    common = torch_common_dtype(prediction, truth, names)
    own = prediction.dtype
    if common.kind == "i" and own.kind == "i" and np.iinfo(own).min <= truth.min() and truth.max() <= np.iinfo(own).max:
        return truth.astype(own, copy=False), own
    return truth, common


def _equal_to_truth(prediction: AnyArray, truth: AnyArray, common: np.dtype[Any]) -> NDArray[np.bool_]:
    """Flat equality of shape (rows * 10,). Repeating the truth is faster than broadcasting."""
    repeated = np.repeat(truth, prediction.shape[1])
    same: NDArray[np.bool_] = np.equal(prediction.reshape(-1), repeated, **compared_as(common))
    return same


def _rows_with_duplicates(ids: AnyArray) -> NDArray[np.bool_]:
    """Rows of a block in which two columns agree on an id that is not padding."""
    columns = np.ascontiguousarray(ids.T)
    repeated = np.zeros(ids.shape[0], np.bool_)
    for left, right in combinations(columns, 2):
        repeated |= (left == right) & (left >= 0)
    return repeated

"""Link prediction from scores: Hits@K against shared negatives, and ranks among candidates."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.arrays import (
    AnyArray,
    blocks,
    compared_as,
    numeric,
    require_ndim,
    require_no_nan,
    require_rows,
    torch_common_dtype,
)
from scoring.benchmarks.parallel import map_in_order
from scoring.errors import ScoringInputError

_BLOCK_BYTES: Final = 1 << 19  # of candidates at a time: stays in the second-level cache between the passes
_STRIPE_BLOCKS: Final = 32  # blocks that one thread does in a row with the same room for the comparisons
_LANES: Final = 8  # bytes of a machine word, each of which counts for itself
_LANE_BLOCK: Final = 127 * _LANES  # candidates whose two comparisons add up to at most 254 in each byte


def hits_at_k(y_pred_pos: ArrayLike, y_pred_neg: ArrayLike, k: int) -> float:
    """Share of positives that score strictly higher than the k-th highest negative; 1.0 is best.

    Parameters
    ----------
    y_pred_pos, y_pred_neg : array-like of shape (n_positives,) and (n_negatives,)
        Scores, infinities included, compared in numpy's common type. Equal negatives count separately; a positive equal
        to the k-th negative is a miss.
    k : int, at least 1

    Fewer than `k` negatives give 1.0 whatever the scores: fix the number of negatives before ranking anybody by this.

    Raises
    ------
    ScoringInputError
        Not one-dimensional, no positives (with at least `k` negatives), NaN.

    References: Hu et al. (2020), "Open Graph Benchmark", NeurIPS 33; ogbl-ppa, -collab and -ddi in ogb 1.3.6.
    Doubtful there: the 1.0 for few negatives; NaN negatives count as the largest and NaN positives as misses (refused
    here); torch compares float32 positives with a float64 threshold in float32, numpy in float64 (followed here).

    >>> hits_at_k([0.9, 0.5, 0.3], [0.8, 0.4, 0.3, 0.1], k=2)
    0.6666666666666666
    """
    above = positives_above(y_pred_pos, y_pred_neg, k)
    return int(np.count_nonzero(above)) / len(above) if len(above) else 1.0  # no positives, and too few negatives


def positives_above(y_pred_pos: ArrayLike, y_pred_neg: ArrayLike, k: int) -> NDArray[np.bool_]:
    """True for each positive that scores strictly higher than the k-th highest negative.

    >>> positives_above([0.9, 0.5, 0.3], [0.8, 0.4, 0.3, 0.1], k=2)
    array([ True,  True, False])
    """
    positives, negatives = numeric(y_pred_pos, "y_pred_pos"), numeric(y_pred_neg, "y_pred_neg")
    if k < 1:
        raise ScoringInputError("bad_parameter", "k", f"it is {k}", "give a whole number from 1")
    for scores, name in ((positives, "y_pred_pos"), (negatives, "y_pred_neg")):
        require_ndim(scores, name, 1, "one number per edge")
        require_no_nan(scores, name)
    if negatives.shape[0] < k:
        return np.ones(positives.shape[0], np.bool_)
    require_rows(positives, "y_pred_pos")
    place = negatives.shape[0] - k
    # a threshold of shape (1,), because numpy 1 would compare a scalar in the positives' type
    threshold = np.partition(negatives, place)[place : place + 1]
    above: NDArray[np.bool_] = np.greater(positives, threshold)
    return above


def ranks(y_pred_pos: ArrayLike, y_pred_neg: ArrayLike) -> NDArray[np.float64]:
    """Rank of each item's positive among its own candidates, shape (n_items,), from 1.0; lower is better.

    ``1 + (candidates strictly above + candidates at or above) / 2``: the mean over all orders of the ties, so ranks
    can be halves. There is no cut-off.

    Parameters
    ----------
    y_pred_pos : array-like of shape (n_items,)
    y_pred_neg : array-like of shape (n_items, n_candidates)
        Scores, infinities included, compared as torch does (int64 against float32 in float32).

    Extra memory: about 1 MB per thread, whatever the input. Large inputs use several cores.

    Raises
    ------
    ScoringInputError
        Other dimensions, unequal numbers of items (never broadcast), no items, no candidates, NaN anywhere.

    References: Hu et al. (2020), "Open Graph Benchmark", NeurIPS 33; ogbl-citation2, -wikikg2, -biokg since ogb 1.3.4.
    Doubtful there: a NaN positive gets rank 1, so a file of NaN is perfect; a single row is broadcast; no candidates
    give rank 1. All three are refused here.

    >>> ranks([0.5, 0.5], [[0.9, 0.5, 0.1], [0.4, 0.3, 0.2]])
    array([2.5, 1. ])
    """
    positives, negatives = numeric(y_pred_pos, "y_pred_pos"), numeric(y_pred_neg, "y_pred_neg")
    _require_items(positives, negatives)
    common = torch_common_dtype(positives, negatives, ("y_pred_pos", "y_pred_neg"))
    require_no_nan(positives, "y_pred_pos")
    rows = _STRIPE_BLOCKS * _rows_per_block(negatives)

    def twice_above(part: slice) -> NDArray[np.int64]:
        return _twice_above(positives[part], negatives[part], common)

    counts = map_in_order(twice_above, blocks(positives.shape[0], rows), elements=negatives.size)
    return 1.0 + np.concatenate(counts) / 2.0


def mean_reciprocal_rank(y_pred_pos: ArrayLike, y_pred_neg: ArrayLike) -> float:
    """Mean of ``1 / rank`` over the items, above 0 up to 1; higher is better, 1.0 is perfect. See `ranks`.

    The official code returns a list of float32; this is the float64 mean, which agrees with the list's within 1e-6.

    >>> mean_reciprocal_rank([0.5, 0.5], [[0.9, 0.5, 0.1], [0.4, 0.3, 0.2]])
    0.7
    """
    return float(np.mean(1.0 / ranks(y_pred_pos, y_pred_neg)))


def _require_items(positives: AnyArray, negatives: AnyArray) -> None:
    require_ndim(positives, "y_pred_pos", 1, "one number per item")
    require_ndim(negatives, "y_pred_neg", 2, "one row of numbers per item, one number for each candidate")
    if positives.shape[0] != negatives.shape[0]:
        what, right = f"it has {negatives.shape[0]} rows", f"give {positives.shape[0]}, one per positive"
        raise ScoringInputError("wrong_shape", "y_pred_neg", what, right)
    require_rows(positives, "y_pred_pos")
    if negatives.shape[1] == 0:
        raise ScoringInputError("empty_input", "y_pred_neg", "it holds no candidates", "give at least one per item")


def _twice_above(positives: AnyArray, negatives: AnyArray, common: np.dtype[Any]) -> NDArray[np.int64]:
    """Candidates strictly above plus candidates at or above, per item of one stripe."""
    total = np.zeros(positives.shape[0], np.int64)
    rows = min(_rows_per_block(negatives), positives.shape[0])
    masks = np.empty((2, rows, _whole_words(min(negatives.shape[1], _LANE_BLOCK))), np.bool_)
    for part in blocks(positives.shape[0], rows):
        block = negatives[part]
        if block.dtype.kind == "f" and np.isnan(np.max(block)):  # max carries NaN along and is one fast pass
            raise ScoringInputError("nan", "y_pred_neg", "it holds NaN", "give a number for every candidate")
        for columns in blocks(block.shape[1], _LANE_BLOCK):
            total[part] += _compare(positives[part, np.newaxis], block[:, columns], masks[:, : len(block)], common)
    return total


def _rows_per_block(negatives: AnyArray) -> int:
    return max(1, _BLOCK_BYTES // int(negatives.shape[1] * negatives.dtype.itemsize))


def _whole_words(columns: int) -> int:
    """`columns` rounded up to whole machine words."""
    return -(-columns // _LANES) * _LANES


def _compare(
    positives: AnyArray, negatives: AnyArray, masks: NDArray[np.bool_], common: np.dtype[Any]
) -> NDArray[np.int64]:
    """Both comparisons of at most `_LANE_BLOCK` columns, summed per row; `masks` is scratch memory.

    Summing booleans along short rows costs several times the comparison; summing them eight at a time as the bytes of
    one machine word does not.
    """
    columns = negatives.shape[1]
    above, at_or_above = masks[:, :, : _whole_words(columns)]
    masks[:, :, columns : above.shape[1]] = False
    np.greater(negatives, positives, out=above[:, :columns], **compared_as(common))
    np.greater_equal(negatives, positives, out=at_or_above[:, :columns], **compared_as(common))
    lanes = above.view(np.uint64)
    lanes += at_or_above.view(np.uint64)
    sums: NDArray[np.uint64] = np.add.reduce(lanes, axis=1)
    counts: NDArray[np.int64] = sums[:, np.newaxis].view(np.uint8).sum(axis=1, dtype=np.int64)
    return counts

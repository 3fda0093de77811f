"""Metrics of ranked lists (items in one cell, best first) and of scored candidates in groups."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from scoring.metrics.binary import step_precision
from scoring.metrics.metric import SKLEARN, Floats, Parameter, Prediction, Rows, Subject, Target, no_value

_K: Final = Parameter("k", "integer", 10, "how many items of the list count", 1, 10_000)
Found = Callable[[list[bool], int, int], float]
LISTS: Final = Subject(
    group="ranking and retrieval",
    direction="max",
    target=Target("text"),
    prediction=Prediction("text"),
    parameters=(_K,),
    perfect=1.0,
)
GROUPS: Final = Subject(
    group="ranking and retrieval",
    direction="max",
    target=Target("number"),
    prediction=Prediction("number"),
    perfect=1.0,
    weighted=False,
    needs_group=True,
)


def _hits(rows: Rows, k: int, value: Found) -> Floats:
    """`value` of each row, from the places of true items among its first k distinct predictions.

    `value` also gets the number of true items, and k.
    """
    return np.array(
        [
            _row(str(truth), str(prediction), k, value)
            for truth, prediction in zip(rows.truth, rows.prediction, strict=True)
        ]
    )


def _row(truth: str, prediction: str, k: int, value: Found) -> float:
    relevant = set(truth.split())
    if not relevant:
        return 0.0
    listed = list(dict.fromkeys(prediction.split()))[:k]  # an item that is there twice counts once
    return value([item in relevant for item in listed], len(relevant), k)


def _average_precision(hits: list[bool], relevant_count: int, k: int) -> float:
    places = np.flatnonzero(hits) + 1
    return float(np.sum(np.arange(1, len(places) + 1) / places)) / min(relevant_count, k)


def _gain(hits: list[bool], relevant_count: int, k: int) -> float:
    discounts = 1 / np.log2(np.arange(2, k + 2))
    return float(discounts[np.flatnonzero(hits)].sum() / discounts[: min(relevant_count, k)].sum())


@LISTS.mean(
    "map_at_k",
    "Mean average precision at k",
    "Manning et al. (2008), Introduction to Information Retrieval, 8.4",
    words="map@k map@5 recommendation",
)
def average_precisions(rows: Rows, *, k: int) -> Floats:
    """Lists of items, best first, separated by spaces; any number of items may be true.

    A row's value is the average precision among its first k items.

    >>> average_precisions(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.5833]
    """
    return _hits(rows, k, _average_precision)


@LISTS.mean("ndcg_at_k", "nDCG at k of lists", SKLEARN + "ndcg_score", words="ndcg@k")
def gains(rows: Rows, *, k: int) -> Floats:
    """As average precision, with a logarithmic discount.

    Each true item is worth 1.

    >>> gains(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.6934]
    """
    return _hits(rows, k, _gain)


@LISTS.mean("mrr_at_k", "Mean reciprocal rank at k", "Voorhees (1999), TREC-8", words="mrr")
def reciprocal_ranks(rows: Rows, *, k: int) -> Floats:
    """One over the place of the first true item.

    0 where that is beyond k.

    >>> reciprocal_ranks(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.5]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: 1 / (hits.index(True) + 1) if True in hits else 0.0)


@LISTS.mean("recall_at_k", "Recall at k", "formula: hits / true items", perfect=None)
def recalls(rows: Rows, *, k: int) -> Floats:
    """Share of the true items among the first k.

    >>> recalls(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [1.0]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: sum(hits) / relevant_count)


@LISTS.mean("precision_at_k", "Precision at k", "formula: hits / k", perfect=None)
def precisions(rows: Rows, *, k: int) -> Floats:
    """Share of the k places that hold true items.

    >>> precisions(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.6667]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: sum(hits) / k)


@LISTS.mean("hit_rate_at_k", "Hit rate at k", "formula: any hit", words="top k")
def hit_rates(rows: Rows, *, k: int) -> Floats:
    """Share of the rows with a true item among the first k.

    >>> hit_rates(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [1.0]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: float(any(hits)))


@GROUPS.whole(
    "group_ndcg",
    "nDCG at k of groups",
    SKLEARN + "ndcg_score",
    target=Target("number", least=0.0),
    parameters=(_K,),
    words="ndcg learning to rank",
)
def group_gain(rows: Rows, *, k: int) -> float:
    """Each row is a candidate of a group (a query, a user) with a relevance; the predictions order them.

    Equal scores share their places' discounts. Groups without a relevant row are left out.

    >>> round(group_gain(Rows(np.array([1.0, 0.0, 2.0]), np.array([0.2, 0.9, 0.4]), group=np.array([0, 0, 1])), k=2), 4)
    0.8155
    """
    if np.any(rows.truth < 0):
        raise no_value("a relevance is below 0", "give 0 to what is not relevant")
    scores = [_ndcg(part.truth, part.prediction, k) for part in rows.by_group() if np.any(part.truth > 0)]
    return _mean(scores)


def _ndcg(relevance: Any, score: Any, k: int) -> float:
    """Linear gains, as scikit-learn takes them."""
    discounts = 1 / np.log2(np.arange(len(score)) + 2)
    discounts[k:] = 0
    _, places, counts = np.unique(-score, return_inverse=True, return_counts=True)
    gain = np.bincount(places, relevance) / counts
    sums = np.add.reduceat(discounts, np.cumsum(counts) - counts)
    best = float(np.sort(relevance)[::-1] @ discounts)
    return float(gain @ sums) / best


@GROUPS.whole("group_map", "Mean average precision of groups", SKLEARN + "average_precision_score", words="map query")
def group_average_precision(rows: Rows) -> float:
    """Each row is a candidate of a group; relevant ones should score highest.

    Groups without both classes are left out.

    >>> round(group_average_precision(Rows(np.array([1.0, 0.0]), np.array([0.2, 0.9]), group=np.array([0, 0]))), 4)
    0.5
    """

    parts = [part for part in rows.by_group() if 0 < np.count_nonzero(part.truth > 0) < len(part.truth)]
    return _mean([step_precision(part.prediction[part.truth > 0], part.prediction[part.truth <= 0]) for part in parts])


@GROUPS.whole("group_mrr", "Mean reciprocal rank of groups", "Voorhees (1999), TREC-8")
def group_reciprocal_rank(rows: Rows) -> float:
    """One over the place of each group's first relevant row.

    Of equal scores the relevant one comes last.

    >>> rows = Rows(np.array([1.0, 0.0, 2.0]), np.array([0.2, 0.9, 0.4]), group=np.array([0, 0, 1]))
    >>> float(round(group_reciprocal_rank(rows), 4))
    0.75
    """
    return _mean([_first_place(part) for part in rows.by_group() if np.any(part.truth > 0)])


def _first_place(part: Rows) -> float:
    best = part.prediction[part.truth > 0].max()
    return 1 / (1 + np.count_nonzero(part.prediction[part.truth <= 0] >= best))


def _mean(scores: list[float]) -> float:
    if not scores:
        raise no_value("no group has relevant rows", "mark some with a number above 0")
    return sum(scores) / len(scores)

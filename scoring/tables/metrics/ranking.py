"""Metrics of ranked lists (items in one cell, best first) and of scored candidates in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from scoring.tables.metrics.base import Floats, Parameter, Prediction, Rows, TableMetric, Target, groups_of, undefined

_ITEMS, _LIST, _SCORE = Target("text"), Prediction("text"), Prediction("number")
_RELEVANCE: Final = Target("number")
_K: Final = Parameter("k", "integer", 10, "how many items of the list count", 1, 10_000)
Found = Callable[[list[bool], int, int], float]


def _hits(rows: Rows, k: int, value: Found) -> Floats:
    """`value` of each row, from where its first k distinct predicted items are true, the number of true ones, and k."""
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


def average_precisions(rows: Rows, *, k: int) -> Floats:
    """Each row's average precision among its first k items.

    >>> average_precisions(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.5833]
    """
    return _hits(rows, k, _average_precision)


def gains(rows: Rows, *, k: int) -> Floats:
    """Each row's normalized discounted cumulative gain among its first k items, each true item being worth 1.

    >>> gains(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.6934]
    """
    return _hits(rows, k, _gain)


def reciprocal_ranks(rows: Rows, *, k: int) -> Floats:
    """One over the place of each row's first true item, 0 beyond k.

    >>> reciprocal_ranks(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.5]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: 1 / (hits.index(True) + 1) if True in hits else 0.0)


def recalls(rows: Rows, *, k: int) -> Floats:
    """Share of each row's true items among its first k.

    >>> recalls(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [1.0]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: sum(hits) / relevant_count)


def precisions(rows: Rows, *, k: int) -> Floats:
    """Share of the k places that hold true items.

    >>> precisions(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [0.6667]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: sum(hits) / k)


def hit_rates(rows: Rows, *, k: int) -> Floats:
    """1 for each row with a true item among its first k.

    >>> hit_rates(Rows(np.array(["a b"]), np.array(["c a b"])), k=3).round(4).tolist()
    [1.0]
    """
    return _hits(rows, k, lambda hits, relevant_count, k: float(any(hits)))


def group_gain(rows: Rows, *, k: int) -> float:
    """Mean over the groups of the gain of their rows ordered by score; equal scores share their places' discounts.

    Groups without a relevant row are left out.

    >>> round(group_gain(Rows(np.array([1.0, 0.0, 2.0]), np.array([0.2, 0.9, 0.4]), group=np.array([0, 0, 1])), k=2), 4)
    0.8155
    """
    scores = [_ndcg(part.truth, part.prediction, k) for part in groups_of(rows) if np.any(part.truth > 0)]
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


def group_average_precision(rows: Rows) -> float:
    """Mean over the groups of the average precision of their rows by score; groups without both classes are left out.

    >>> round(group_average_precision(Rows(np.array([1.0, 0.0]), np.array([0.2, 0.9]), group=np.array([0, 0]))), 4)
    0.5
    """
    from scoring.metrics.binary import average_precision

    parts = [part for part in groups_of(rows) if 0 < np.count_nonzero(part.truth > 0) < len(part.truth)]
    return _mean([average_precision(part.truth > 0, part.prediction) for part in parts])


def group_reciprocal_rank(rows: Rows) -> float:
    """Mean over the groups of one over the place of the best relevant row; of equal scores the relevant one comes last.

    >>> rows = Rows(np.array([1.0, 0.0, 2.0]), np.array([0.2, 0.9, 0.4]), group=np.array([0, 0, 1]))
    >>> float(round(group_reciprocal_rank(rows), 4))
    0.75
    """
    return _mean([_first_place(part) for part in groups_of(rows) if np.any(part.truth > 0)])


def _first_place(part: Rows) -> float:
    best = part.prediction[part.truth > 0].max()
    return 1 / (1 + np.count_nonzero(part.prediction[part.truth <= 0] >= best))


def _mean(scores: list[float]) -> float:
    if not scores:
        raise undefined("no group has relevant rows", "mark some with a number above 0")
    return sum(scores) / len(scores)


def _list_metric(name: str, title: str, text: str, source: str, per_row: Any, **more: Any) -> TableMetric:
    settings: dict[str, Any] = {"perfect": 1.0} | more
    return TableMetric(
        name,
        title,
        "ranking and retrieval",
        text,
        "max",
        (0.0, 1.0),
        _ITEMS,
        _LIST,
        source,
        per_row=per_row,
        parameters=(_K,),
        **settings,
    )


def _group_metric(name: str, title: str, text: str, source: str, function: Any, **more: Any) -> TableMetric:
    return TableMetric(
        name, title, "ranking and retrieval", text, "max", (0.0, 1.0), _RELEVANCE, _SCORE, source, function=function, perfect=1.0,
        weighted=False, needs_group=True, **more,
    )  # fmt: skip


METRICS: Final = (
    _list_metric(
        "map_at_k", "Mean average precision at k",
        "Lists of items, best first, separated by spaces; any number of items may be true.",
        "Manning et al. (2008), Introduction to Information Retrieval, 8.4", average_precisions,
        words="map@k map@5 recommendation",
    ),
    _list_metric(
        "ndcg_at_k", "nDCG at k of lists", "As average precision, with a logarithmic discount.",
        "scikit-learn: sklearn.metrics.ndcg_score", gains, words="ndcg@k",
    ),
    _list_metric(
        "mrr_at_k", "Mean reciprocal rank at k", "One over the place of the first true item.", "Voorhees (1999), TREC-8",
        reciprocal_ranks, words="mrr",
    ),
    _list_metric(
        "recall_at_k", "Recall at k", "Share of the true items among the first k.", "formula: hits / true items", recalls,
        perfect=None,
    ),
    _list_metric(
        "precision_at_k", "Precision at k", "Share of the k places that hold true items.", "formula: hits / k", precisions,
        perfect=None,
    ),
    _list_metric(
        "hit_rate_at_k", "Hit rate at k", "Share of the rows with a true item among the first k.", "formula: any hit", hit_rates,
        words="top k",
    ),
    _group_metric(
        "group_ndcg", "nDCG at k of groups",
        "Each row is a candidate of a group (a query, a user) with a relevance; the predictions order them.",
        "scikit-learn: sklearn.metrics.ndcg_score", group_gain, parameters=(_K,), words="ndcg learning to rank",
    ),
    _group_metric(
        "group_map", "Mean average precision of groups",
        "Each row is a candidate of a group; relevant ones should score highest.",
        "scikit-learn: sklearn.metrics.average_precision_score", group_average_precision, words="map query",
    ),
    _group_metric(
        "group_mrr", "Mean reciprocal rank of groups", "One over the place of each group's first relevant row.",
        "Voorhees (1999), TREC-8", group_reciprocal_rank,
    ),
)  # fmt: skip
"""The metrics of ranked lists and groups."""

"""Metrics of clusterings: what a cluster is called does not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scoring.tables.metrics.base import Prediction, Rows, TableMetric, Target

_CLASS, _CLUSTER = Target("class"), Prediction("text")


def _of_sklearn(name: str) -> Callable[[Rows], float]:
    def score(rows: Rows) -> float:
        from sklearn import metrics  # here, because loading it takes longer than scoring most files

        measure: Any = getattr(metrics, name)
        return float(measure(rows.truth, rows.prediction.astype(str)))

    return score


def _metric(name: str, title: str, text: str, function: str, low: float, words: str = "") -> TableMetric:
    return TableMetric(
        name, title, "clustering", text, "max", (low, 1.0), _CLASS, _CLUSTER, f"scikit-learn: sklearn.metrics.{function}",
        _of_sklearn(function), perfect=1.0, weighted=False, words=words,
    )  # fmt: skip


METRICS: Final = (
    _metric(
        "adjusted_rand", "Adjusted Rand index", "Pairs that both clusterings treat alike, beyond chance.", "adjusted_rand_score",
        -1.0, "ari",
    ),
    _metric(
        "normalized_mutual_information", "Normalized mutual information", "What the clusters tell about the classes, as a share.",
        "normalized_mutual_info_score", 0.0, "nmi",
    ),
    _metric(
        "adjusted_mutual_information", "Adjusted mutual information", "As normalized mutual information, beyond chance.",
        "adjusted_mutual_info_score", -1.0, "ami",
    ),
    _metric(
        "fowlkes_mallows", "Fowlkes-Mallows index", "Geometric mean of the pairs' precision and recall.", "fowlkes_mallows_score",
        0.0,
    ),
    _metric("homogeneity", "Homogeneity", "Whether each cluster holds one class.", "homogeneity_score", 0.0),
    _metric("completeness", "Completeness", "Whether each class lies in one cluster.", "completeness_score", 0.0),
)  # fmt: skip
"""The metrics of clusterings."""

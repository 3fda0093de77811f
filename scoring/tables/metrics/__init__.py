"""The catalogue of metrics of tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scoring.errors import ScoringInputError
from scoring.tables.metrics import (
    binary,
    boxes,
    classes,
    clusters,
    distributions,
    labels,
    masks,
    ranking,
    regression,
    series,
    survival,
    text,
)  # fmt: skip
from scoring.tables.metrics.base import TableMetric

_MODULES: Final = (
    binary,
    classes,
    labels,
    regression,
    distributions,
    ranking,
    series,
    masks,
    boxes,
    text,
    survival,
    clusters,
)

TABLE_METRICS: Final[dict[str, TableMetric]] = {metric.name: metric for module in _MODULES for metric in module.METRICS}
"""Every metric by its name, in the order in which pages list them."""


def metric(name: str) -> TableMetric:
    """The metric of that name. Raises `ScoringInputError` (``unknown_name``).

    >>> metric("rmse").title
    'Root mean squared error'
    """
    if name not in TABLE_METRICS:
        raise ScoringInputError("unknown_name", "metric", f"there is no metric {name!r}", "choose one of the catalogue")
    return TABLE_METRICS[name]


def search(words: str) -> Iterable[TableMetric]:
    """The metrics in whose name, title, group or other words each of the given words occurs.

    >>> [metric.name for metric in search("auc multi-label")]
    ['mean_roc_auc']
    """
    terms = words.lower().split()
    for known in TABLE_METRICS.values():
        about = f"{known.name} {known.title} {known.group} {known.help} {known.words}".lower()
        if all(word in about for word in terms):
            yield known

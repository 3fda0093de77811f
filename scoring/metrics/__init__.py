"""The catalogue of metrics, of arrays and of columns of tables alike, each defined once."""

from collections.abc import Iterable
from importlib import import_module
from typing import Final

from scoring.errors import ScoringInputError
from scoring.metrics.metric import CATALOGUE, Metric

_SUBJECTS: Final = "binary classes labels regression distributions ranking series masks boxes text survival clusters"
for _subject in _SUBJECTS.split():
    import_module(f"scoring.metrics.{_subject}")

METRICS: Final = CATALOGUE
"""Every metric by its name, in the order in which pages list them."""


def metric(name: str) -> Metric:
    """The metric of that name. Raises `ScoringInputError` (``unknown_name``).

    >>> metric("rmse").title
    'Root mean squared error'
    """
    if name not in METRICS:
        raise ScoringInputError("unknown_name", "metric", f"there is no metric {name!r}", "choose one of the catalogue")
    return METRICS[name]


def search(words: str) -> Iterable[Metric]:
    """The metrics in whose name, title, group or other words each of the given words occurs.

    >>> [metric.name for metric in search("auc multi-label")]
    ['mean_roc_auc']
    """
    terms = words.lower().split()
    for known in METRICS.values():
        about = f"{known.name} {known.title} {known.group} {known.help} {known.words}".lower()
        if all(word in about for word in terms):
            yield known

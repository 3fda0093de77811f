"""The score of a dataset's arrays, of two arrays of one's own, and of their single samples."""

import copy
import difflib

import numpy as np

from scoring.arrays import AnyArray
from scoring.benchmarks.datasets import DATASETS, Description, describe_score, vector_inputs
from scoring.benchmarks.evaluators import EVALUATORS, Inputs
from scoring.benchmarks.per_sample import Samples, dataset_samples
from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Metric
from scoring.metrics.vectors import rows_from_vectors


def names() -> list[str]:
    """Names of the 33 datasets whose official evaluators are rebuilt here, sorted.

    >>> len(names()), names()[0]
    (33, 'lsc-mag240m')
    """
    return sorted(DATASETS)


def metric_names() -> list[str]:
    """Names of the metrics of two arrays of one number a row; `describe` and `evaluate` take them.

    >>> "balanced_accuracy" in metric_names()
    True
    """
    return sorted(name for name, known in METRICS.items() if known.takes_vectors)


def describe(name: str) -> Description:
    """Task, metrics, inputs, rows per split and source of a dataset or metric.

    Raises `ScoringInputError` (``unknown_name``) with the nearest known name.

    >>> describe("lsc-pcqm4mv2")["metrics"][0]["direction"]
    'min'
    >>> describe("lsc-wikikg90mv2")["splits"]["test-challenge"]
    10000
    """
    _require_known(name)
    return copy.deepcopy(DATASETS[name]) if name in DATASETS else _describe_metric(METRICS[name])


def evaluate(name: str, inputs: Inputs) -> dict[str, float]:
    """The scores of `inputs`, equal to those of the official evaluator of `name`.

    Parameters
    ----------
    name : str
        One of `names()` or `metric_names()`.
    inputs : mapping of str to array
        The arrays that `describe(name)["inputs"]` lists; others are ignored. They are not modified. Numbers of rows are
        compared with each other, not with the official splits: that is done where files are read
        (`scoring.formats.submissions`).

    Returns
    -------
    dict of str to float
        One finite number per metric key.

    Raises
    ------
    ScoringInputError
        Whatever the official evaluator refuses, and whatever would make it answer NaN or infinity.

    >>> evaluate("lsc-mag240m", {"y_true": np.array([1, 2]), "y_pred": np.array([1, 0], dtype=np.int16)})
    {'acc': 0.5}
    """
    _require_known(name)
    if name in DATASETS:
        return EVALUATORS[name](inputs)
    return {name: METRICS[name].score(rows_from_vectors(METRICS[name], inputs))}


def per_sample(name: str, inputs: Inputs) -> Samples:
    """One float32 value per sample and metric, whose mean is the score of `evaluate` (within float32).

    Rows without a label are left out. Accuracy: 1 for right. MAE: the absolute error. MRR: the reciprocal rank. Hits: 1
    for a hit (OpenBioLink: the tail queries, then the head queries). RMSE: the squared error under the key
    ``squared_error``, of which the score is the root of the mean. WikiKG90M files with a duplicate: all 0, as their score.

    These values say much about the labels. Whoever has them and the predictions can reconstruct most labels of a
    regression: keep them from participants.

    Raises `ScoringInputError` as `evaluate`, and ``not_decomposable`` where the score is not a mean over samples, such as
    ROC-AUC.

    >>> per_sample("lsc-pcqm4mv2", {"y_true": np.array([1.0, 2.0]), "y_pred": np.array([1.5, 2.0])})
    {'mae': array([0.5, 0. ], dtype=float32)}
    """
    evaluate(name, inputs)  # the same checks, and the same errors
    values = dataset_samples(name, inputs) if name in DATASETS else _metric_samples(METRICS[name], inputs)
    if values is None:
        what = f"{describe(name)['primary']} is not a mean over samples"
        raise ScoringInputError("not_decomposable", name, what, "use a dataset whose score is a mean")
    return {key: np.asarray(value, dtype=np.float32) for key, value in values.items()}


def _metric_samples(metric: Metric, inputs: Inputs) -> dict[str, AnyArray] | None:
    losses = metric.losses(rows_from_vectors(metric, inputs)) if metric.is_mean_over_rows else None
    return None if losses is None else {metric.name: losses}


def _require_known(name: str) -> None:
    known = [*names(), *metric_names()]
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}" if near else "see scoring.names()"
        raise ScoringInputError("unknown_name", "name", f"there is no evaluator {name!r}", hint)


def _describe_metric(metric: Metric) -> Description:
    dtypes = {"binary": "0 and 1", "class": "whole numbers"}
    return {
        "name": metric.name,
        "family": "metric",
        "task": f"{metric.title} ({metric.group})",
        "primary": metric.name,
        "metrics": [describe_score(metric.name, metric.name)],
        "inputs": vector_inputs(
            dtypes.get(metric.target.kind, "numbers"),
            dtypes.get(metric.prediction.kind, "numbers"),
            "one value per sample",
        ),
        "classes": None,
        "splits": {},
        "sizes_are": "free",
        "source": metric.source,
    }

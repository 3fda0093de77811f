"""`evaluate`: the official numbers of a dataset from its arrays."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.catalogue import DATASETS, METRICS, Description
from scoring.errors import ScoringInputError
from scoring.metrics.arrays import numeric, require_columns, take
from scoring.metrics.binary import average_precision, pooled_roc_auc, roc_auc
from scoring.metrics.classification import accuracy, balanced_accuracy, paper_accuracy
from scoring.metrics.links import hits_at_k, ranks
from scoring.metrics.regression import mean_absolute_error, root_mean_squared_error
from scoring.metrics.sequences import f1_subtokens
from scoring.metrics.topk import candidate_mean_reciprocal_rank, hits_at_10, top10_mean_reciprocal_rank

Inputs: TypeAlias = Mapping[str, Any]
Evaluator: TypeAlias = Callable[[Inputs], dict[str, float]]


def names() -> list[str]:
    """Names of the 33 datasets whose official evaluators are rebuilt here, sorted.

    >>> len(names()), names()[0]
    (33, 'lsc-mag240m')
    """
    return sorted(DATASETS)


def metric_names() -> list[str]:
    """Names of the metrics that belong to no dataset; `describe` and `evaluate` take them as well.

    >>> "balanced_accuracy" in metric_names()
    True
    """
    return sorted(METRICS)


def describe(name: str) -> Description:
    """Task, metrics (direction, unit), inputs (shapes, types), rows per split and source of a dataset or metric.

    Raises `ScoringInputError` (``unknown_name``) with the nearest known name.

    >>> describe("lsc-pcqm4mv2")["metrics"][0]["direction"]
    'min'
    >>> describe("lsc-wikikg90mv2")["splits"]["test-challenge"]
    10000
    """
    return copy.deepcopy(_known(name))


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
    _known(name)
    return _EVALUATORS[name](inputs)


def _known(name: str) -> Description:
    known = DATASETS | METRICS
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}" if near else "see scoring.names()"
        raise ScoringInputError("unknown_name", "name", f"there is no evaluator {name!r}", hint)
    return known[name]


def _per_task(name: str, key: str, metric: Callable[..., float], **options: Any) -> Evaluator:
    """The ogbn and ogbg rule: two arrays of equal shape (rows, tasks)."""

    def score(inputs: Inputs) -> dict[str, float]:
        tasks = DATASETS[name]["inputs"][0]["shape"][1]
        assert isinstance(tasks, int)
        arrays = [numeric(take(inputs, array), array) for array in ("y_true", "y_pred")]
        for array, label in zip(arrays, ("y_true", "y_pred"), strict=True):
            require_columns(array, label, tasks)
        return {key: metric(*arrays, **options)}

    return score


def _plain(key: str, metric: Callable[..., float], *arrays: str, **options: Any) -> Evaluator:
    """An evaluator that hands the named arrays to one metric."""
    return lambda inputs: {key: metric(*(take(inputs, array) for array in arrays), **options)}


def _rank_scores(inputs: Inputs) -> dict[str, float]:
    """MRR and Hits@1, 3, 10 over all items; the official lists of float32 are averaged in float64."""
    return mean_of_items(rank_items(inputs))


def rank_items(inputs: Inputs) -> dict[str, NDArray[np.float32]]:
    """Per item the official float32 lists, under the keys ``mrr``, ``hits@1``, ``hits@3``, ``hits@10``.

    >>> rank_items({"y_pred_pos": np.array([0.5]), "y_pred_neg": np.array([[0.9, 0.1]])})["mrr"]
    array([0.5], dtype=float32)
    """
    ranking = ranks(take(inputs, "y_pred_pos"), take(inputs, "y_pred_neg"))
    hits = {f"hits@{k}": (ranking <= k).astype(np.float32) for k in (1, 3, 10)}
    return {"mrr": (1.0 / ranking).astype(np.float32), **hits}


def mean_of_items(items: Mapping[str, NDArray[np.float32]]) -> dict[str, float]:
    """The float64 mean of each list.

    >>> mean_of_items({"mrr": np.array([0.5, 1.0], dtype=np.float32)})
    {'mrr': 0.75}
    """
    return {key: float(np.mean(values, dtype=np.float64)) for key, values in items.items()}


def _sequences(inputs: Inputs) -> dict[str, float]:
    return f1_subtokens(take(inputs, "seq_ref"), take(inputs, "seq_pred"))


_OF_METRIC: Final[dict[str, tuple[Callable[..., float], dict[str, Any]]]] = {
    "rocauc": (roc_auc, {}),
    "ap": (average_precision, {}),
    "rmse": (root_mean_squared_error, {}),
    "acc": (accuracy, {"nan_prediction": "wrong"}),
}


def _evaluator(name: str) -> Evaluator:
    """The evaluator of a dataset that follows the rule of its family."""
    primary = DATASETS[name]["primary"]
    first_input = DATASETS[name]["inputs"][0]
    if first_input["name"] == "y_true":
        metric, options = _OF_METRIC[primary]
        return _per_task(name, primary, metric, **options)
    if primary == "mrr":
        return _rank_scores
    if primary == "rocauc":
        return _plain(primary, pooled_roc_auc, "y_pred_pos", "y_pred_neg")
    return _plain(primary, hits_at_k, "y_pred_pos", "y_pred_neg", k=int(primary.partition("@")[2]))


_SPECIAL: Final[dict[str, Evaluator]] = {
    "ogbg-code2": _sequences,
    "lsc-mag240m": _plain("acc", paper_accuracy, "y_true", "y_pred"),
    "lsc-wikikg90mv2": _plain("mrr", top10_mean_reciprocal_rank, "t_pred_top10", "t"),
    "lsc-wikikg90m": _plain("mrr", candidate_mean_reciprocal_rank, "t_pred_top10", "t_correct_index"),
    "lsc-pcqm4mv2": _plain("mae", mean_absolute_error, "y_true", "y_pred"),
    "lsc-pcqm4m": _plain("mae", mean_absolute_error, "y_true", "y_pred"),
    "obl2021": _plain("h10", hits_at_10, "h_pred_top10", "t_pred_top10", "triples"),
}

_GENERIC: Final[dict[str, Callable[..., float]]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "mean_absolute_error": mean_absolute_error,
    "root_mean_squared_error": root_mean_squared_error,
    "roc_auc": roc_auc,
    "average_precision": average_precision,
}

_EVALUATORS: Final[dict[str, Evaluator]] = {
    **{name: _SPECIAL.get(name) or _evaluator(name) for name in DATASETS},
    **{name: _plain(name, metric, "y_true", "y_pred") for name, metric in _GENERIC.items()},
}

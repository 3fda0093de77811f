"""The official evaluator of each dataset: which formula takes which of its arrays."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.arrays import numeric, require_columns, take
from scoring.benchmarks.accuracy import accuracy, paper_accuracy
from scoring.benchmarks.curves import average_precision, pooled_roc_auc, roc_auc
from scoring.benchmarks.datasets import DATASETS
from scoring.benchmarks.differences import mean_absolute_error, root_mean_squared_error
from scoring.benchmarks.links import hits_at_k, ranks
from scoring.benchmarks.subtokens import f1_subtokens
from scoring.benchmarks.topk import candidate_mean_reciprocal_rank, hits_at_10, top10_mean_reciprocal_rank

Inputs: TypeAlias = Mapping[str, Any]
Evaluator: TypeAlias = Callable[[Inputs], dict[str, float]]


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


def _score_ranks(inputs: Inputs) -> dict[str, float]:
    """MRR and Hits@1, 3, 10 over all items; the official lists of float32 are averaged in float64."""
    return _mean_of_items(rank_items(inputs))


def rank_items(inputs: Inputs) -> dict[str, NDArray[np.float32]]:
    """Per item the official float32 lists, under the keys ``mrr``, ``hits@1``, ``hits@3``, ``hits@10``.

    >>> rank_items({"y_pred_pos": np.array([0.5]), "y_pred_neg": np.array([[0.9, 0.1]])})["mrr"]
    array([0.5], dtype=float32)
    """
    ranking = ranks(take(inputs, "y_pred_pos"), take(inputs, "y_pred_neg"))
    hits = {f"hits@{k}": (ranking <= k).astype(np.float32) for k in (1, 3, 10)}
    return {"mrr": (1.0 / ranking).astype(np.float32), **hits}


def _mean_of_items(items: Mapping[str, NDArray[np.float32]]) -> dict[str, float]:
    """The float64 mean of each list."""
    return {key: float(np.mean(values, dtype=np.float64)) for key, values in items.items()}


def _sequences(inputs: Inputs) -> dict[str, float]:
    return f1_subtokens(take(inputs, "seq_ref"), take(inputs, "seq_pred"))


_PER_TASK: Final[dict[str, tuple[Callable[..., float], dict[str, object]]]] = {
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
        metric, options = _PER_TASK[primary]
        return _per_task(name, primary, metric, **options)
    if primary == "mrr":
        return _score_ranks
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

EVALUATORS: Final[dict[str, Evaluator]] = {name: _SPECIAL.get(name) or _evaluator(name) for name in DATASETS}
"""The official evaluator of each dataset."""

"""The score of every single sample: what statistics over a score are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.catalogue import DATASETS
from scoring.errors import ScoringInputError
from scoring.evaluators import evaluate, rank_items
from scoring.metrics.arrays import AnyArray, compared_as, labelled, numeric, take, torch_common_dtype
from scoring.metrics.links import positives_above
from scoring.metrics.regression import absolute_errors
from scoring.metrics.sequences import f1_subtokens_per_sample
from scoring.metrics.topk import candidate_reciprocal_ranks, hits_in_top10, top10_reciprocal_ranks

Inputs: TypeAlias = Mapping[str, Any]
Samples: TypeAlias = dict[str, NDArray[np.float32]]


def per_sample(name: str, inputs: Inputs) -> Samples:
    """One float32 value per sample and metric, whose mean is the score of `scoring.evaluate` (within float32).

    Rows without a label are left out. Accuracy: 1 for right. MAE: the absolute error. MRR: the reciprocal rank. Hits: 1
    for a hit (OpenBioLink: the tail queries, then the head queries). RMSE: the squared error under the key
    ``squared_error``, of which the score is the root of the mean. WikiKG90M files with a duplicate: all 0, as their score.

    These values say much about the labels. Whoever has them and the predictions can reconstruct most labels of a
    regression: keep them from participants.

    Raises `ScoringInputError` as `scoring.evaluate`, and ``not_decomposable`` for ROC-AUC and average precision, which
    are no means over samples, and for the metrics that belong to no dataset.

    >>> per_sample("lsc-pcqm4mv2", {"y_true": np.array([1.0, 2.0]), "y_pred": np.array([1.5, 2.0])})
    {'mae': array([0.5, 0. ], dtype=float32)}
    """
    evaluate(name, inputs)  # the same checks, and the same errors
    primary = DATASETS[name]["primary"] if name in DATASETS else name
    rule = _SPECIAL.get(name) or _RULES.get(primary)
    if primary.startswith("hits@"):
        rule = _pooled_hits(primary)
    if rule is None:
        raise ScoringInputError(
            "not_decomposable", name, f"{primary} is not a mean over samples", "use a dataset whose score is a mean"
        )
    return {key: np.asarray(values, dtype=np.float32) for key, values in rule(inputs).items()}


Rule: TypeAlias = Callable[[Inputs], Mapping[str, AnyArray]]


def _pair(inputs: Inputs) -> tuple[AnyArray, AnyArray]:
    return numeric(take(inputs, "y_true"), "y_true"), numeric(take(inputs, "y_pred"), "y_pred")


def _matches(inputs: Inputs) -> Mapping[str, AnyArray]:
    truth, prediction = _pair(inputs)
    return {"acc": (truth == prediction)[labelled(truth)]}


def _paper_matches(inputs: Inputs) -> Mapping[str, AnyArray]:
    truth, prediction = _pair(inputs)
    common = torch_common_dtype(truth, prediction, ("y_true", "y_pred"))
    return {"acc": np.equal(truth, prediction, **compared_as(common))}


def _squared_errors(inputs: Inputs) -> Mapping[str, AnyArray]:
    truth, prediction = _pair(inputs)
    return {"squared_error": ((truth - prediction) ** 2)[labelled(truth)]}


def _pooled_hits(key: str) -> Rule:
    def rule(inputs: Inputs) -> Mapping[str, AnyArray]:
        return {key: positives_above(inputs["y_pred_pos"], inputs["y_pred_neg"], int(key.partition("@")[2]))}

    return rule


def _openbiolink(inputs: Inputs) -> Mapping[str, AnyArray]:
    heads, tails = hits_in_top10(inputs["h_pred_top10"], inputs["t_pred_top10"], inputs["triples"])
    return {"h10": np.concatenate([tails, heads])}


def _words(inputs: Inputs) -> Mapping[str, AnyArray]:
    precision, recall, f1 = f1_subtokens_per_sample(inputs["seq_ref"], inputs["seq_pred"]).T
    return {"F1": f1, "precision": precision, "recall": recall}


_SPECIAL: Final[dict[str, Rule]] = {
    "lsc-mag240m": _paper_matches,
    "lsc-wikikg90mv2": lambda inputs: {"mrr": top10_reciprocal_ranks(inputs["t_pred_top10"], inputs["t"])},
    "lsc-wikikg90m": lambda inputs: {
        "mrr": candidate_reciprocal_ranks(inputs["t_pred_top10"], inputs["t_correct_index"])
    },
}

_RULES: Final[dict[str, Rule]] = {
    "acc": _matches,
    "mae": lambda inputs: {"mae": absolute_errors(inputs["y_true"], inputs["y_pred"])},
    "rmse": _squared_errors,
    "mrr": rank_items,
    "h10": _openbiolink,
    "F1": _words,
}

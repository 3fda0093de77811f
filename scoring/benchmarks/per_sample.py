"""The score of every single sample: what statistics over a score are computed from."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.arrays import AnyArray, compared_as, is_labelled, numeric, take, torch_common_dtype
from scoring.benchmarks.datasets import DATASETS
from scoring.benchmarks.differences import absolute_errors
from scoring.benchmarks.evaluators import Inputs, rank_items
from scoring.benchmarks.links import positives_above
from scoring.benchmarks.subtokens import f1_subtokens_per_sample
from scoring.benchmarks.topk import candidate_reciprocal_ranks, hits_in_top10, top10_reciprocal_ranks

Samples: TypeAlias = dict[str, NDArray[np.float32]]


Rule: TypeAlias = Callable[[Inputs], Mapping[str, AnyArray]]


def _pair(inputs: Inputs) -> tuple[AnyArray, AnyArray]:
    return numeric(take(inputs, "y_true"), "y_true"), numeric(take(inputs, "y_pred"), "y_pred")


def _matches(inputs: Inputs) -> Mapping[str, AnyArray]:
    truth, prediction = _pair(inputs)
    return {"acc": (truth == prediction)[is_labelled(truth)]}


def _paper_matches(inputs: Inputs) -> Mapping[str, AnyArray]:
    truth, prediction = _pair(inputs)
    common = torch_common_dtype(truth, prediction, ("y_true", "y_pred"))
    return {"acc": np.equal(truth, prediction, **compared_as(common))}


def _squared_errors(inputs: Inputs) -> Mapping[str, AnyArray]:
    truth, prediction = _pair(inputs)
    return {"squared_error": ((truth - prediction) ** 2)[is_labelled(truth)]}


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


def dataset_samples(name: str, inputs: Inputs) -> Mapping[str, AnyArray] | None:
    """The values of the single samples of a dataset; None where its score is not a mean over samples.

    >>> dataset_samples("lsc-pcqm4mv2", {"y_true": np.array([1.0, 2.0]), "y_pred": np.array([1.5, 2.0])})
    {'mae': array([0.5, 0. ])}
    """
    primary = DATASETS[name]["primary"]
    rule = _SPECIAL.get(name) or _RULES.get(primary)
    if primary.startswith("hits@"):
        rule = _pooled_hits(primary)
    return None if rule is None else rule(inputs)

"""F1 over sub-tokens of method names (ogbg-code2)."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringInputError


def f1_subtokens_per_sample(
    seq_ref: Sequence[Collection[str]], seq_pred: Sequence[Collection[str]]
) -> NDArray[np.float64]:
    """Precision, recall and F1 of each sample: an array of shape (n_samples, 3). See `f1_subtokens`.

    >>> f1_subtokens_per_sample([["get", "name"]], [["get"]]).round(3).tolist()
    [[1.0, 0.5, 0.667]]
    """
    for samples, name in ((seq_ref, "seq_ref"), (seq_pred, "seq_pred")):
        _require_samples(samples, name)
    if len(seq_ref) != len(seq_pred):
        raise ScoringInputError(
            "wrong_shape", "seq_pred", f"it has {len(seq_pred)} samples", f"give {len(seq_ref)}, one per reference"
        )
    if not seq_ref:
        raise ScoringInputError("empty_input", "seq_ref", "it holds no samples", "give at least one sample")
    return np.array([_precision_recall_f1(*pair) for pair in zip(map(set, seq_ref), map(set, seq_pred), strict=True)])


def f1_subtokens(seq_ref: Sequence[Collection[str]], seq_pred: Sequence[Collection[str]]) -> dict[str, float]:
    """Precision, recall and F1 of predicted sub-tokens, each the mean over samples; 1.0 is best.

    Parameters
    ----------
    seq_ref, seq_pred : list of n_samples lists of str
        The words of each name. Per sample both become sets: order and repeats do not count. Equality is that of
        strings, without folding, trimming or normalisation; ``UNK`` is a word like any other.

    A quotient with denominator 0 is 0, so an empty prediction for an empty reference scores 0.

    Returns
    -------
    dict
        ``F1``, ``precision``, ``recall``; F1 is the mean of the samples' F1, not the harmonic mean of the other two.

    Raises
    ------
    ScoringInputError
        Not lists, unequal lengths, no samples, a plain string in place of a list of words, words that are not strings.

    References: Hu et al. (2020), "Open Graph Benchmark", NeurIPS 33; ogbg-code2 in ogb 1.3.6. Doubtful there: empty
    against empty is 0, and a predicted ``UNK`` can be right although the paper says it never is.

    >>> f1_subtokens([["get", "name"], ["run"]], [["get"], ["run", "run"]])["recall"]
    0.75
    """
    precision, recall, f1 = f1_subtokens_per_sample(seq_ref, seq_pred).mean(axis=0).tolist()
    return {"F1": f1, "precision": precision, "recall": recall}


def _precision_recall_f1(reference: set[str], prediction: set[str]) -> tuple[float, float, float]:
    right = len(reference & prediction)
    if right == 0:
        return 0.0, 0.0, 0.0
    precision, recall = right / len(prediction), right / len(reference)
    return precision, recall, 2 * precision * recall / (precision + recall)


def _require_samples(samples: Any, name: str) -> None:
    if not isinstance(samples, list):
        raise ScoringInputError(
            "wrong_type", name, f"it is a {type(samples).__name__}", "give a list of lists of words"
        )
    for index, words in enumerate(samples):
        if not isinstance(words, (list, tuple, set, frozenset)) or not all(isinstance(word, str) for word in words):
            raise ScoringInputError(
                "wrong_type", f"{name}, sample {index}", "it is not a list of words", "give a list of strings"
            )

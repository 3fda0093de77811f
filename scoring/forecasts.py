"""Ranks on test items that nobody has scored yet, and changes of rank that noise alone explains.

Both take the replicates of a board's entries as the errors of their scores; see `scoring.standings`.
"""

from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.metric import Direction
from scoring.standings import FEWEST_SHARED

_ENTRIES_AT_A_TIME: Final = 100
_TRIED: Final = 250  # resamples: ranks of each are two sorts, and their mean needs no more

Floats = NDArray[np.float64]


def chances_of_top(
    scores: NDArray[np.floating],
    replicates: NDArray[np.floating],
    *,
    direction: Direction,
    top: int,
    items: int = 1,
    unseen_items: int = 1,
) -> Floats:
    """The chance of each entry to be among the first `top` on unseen items, of shape (entries,).

    The score there is off by the error of the items that were seen and by that of the unseen ones. The second has the
    spread of the first, times the root of `items` / `unseen_items`. NaN where too few resamples give all entries a value.

    >>> noise = np.random.default_rng(0).normal(0, 0.1, (3, 1000))
    >>> scores = np.array([5.0, 5.0, 9.0])
    >>> chances_of_top(scores, scores[:, None] + noise, direction="max", top=2).round(1).tolist()
    [0.5, 0.5, 1.0]
    """
    known = np.isfinite(replicates).all(axis=0)
    is_enough = np.count_nonzero(known) >= FEWEST_SHARED
    if len(scores) <= top or not is_enough:
        return np.full(len(scores), 1.0 if is_enough else np.nan)
    usable = replicates if known.all() else replicates[:, known]
    sign = -1.0 if direction == "max" else 1.0  # smaller is better from here on

    def unseen(entries: NDArray[np.int64]) -> Floats:
        errors = _errors(usable[entries])
        other = np.roll(errors, errors.shape[1] // 2, axis=1) * np.sqrt(items / unseen_items)
        drawn: Floats = sign * (scores[entries, None] + errors + other)
        return drawn

    order = np.argsort(sign * scores, kind="stable")
    worst = unseen(order[:top]).max()  # who is never as good as this is never among the first
    able, rows = [], []
    for start in range(0, len(order), _ENTRIES_AT_A_TIME):
        entries = order[start : start + _ENTRIES_AT_A_TIME]
        drawn = unseen(entries)
        is_able = drawn.min(axis=1) <= worst
        able.append(entries[is_able])
        rows.append(drawn[is_able])
    drawn = np.concatenate(rows)
    last = np.partition(drawn, top - 1, axis=0)[top - 1]
    chances = np.zeros(len(scores))
    chances[np.concatenate(able)] = (drawn <= last).mean(axis=1)
    return chances


def expected_rank_change(
    before: tuple[NDArray[np.floating], NDArray[np.floating]],
    after: tuple[NDArray[np.floating], NDArray[np.floating]],
    *,
    direction: Direction,
) -> float:
    """The mean change of rank between two boards if no entry had become better or worse.

    Each board gives the scores of the same entries, in one order, and their replicates. An entry's true score is drawn from
    what both boards say of it: their mean, weighted by how sure each board is, spreads more than true scores do, so it is
    shrunk towards the mean of all entries by the share of its spread that is error (empirical Bayes). What moves all entries
    alike moves no rank, and is not an error here.

    Reference: Morris (1983), "Parametric empirical Bayes inference", JASA 78(381): B = A / (A + V), posterior N(B m, B V).

    >>> noise = np.random.default_rng(0).normal(0, 0.1, (2, 40, 1000))
    >>> scores = np.arange(40.0)
    >>> expected_rank_change((scores, scores[:, None] + noise[0]), (scores, scores[:, None] + noise[1]), direction="max")
    0.0
    """
    errors = [_errors(replicates)[:, :_TRIED] for _, replicates in (before, after)]
    count = min(part.shape[1] for part in errors)
    if count < FEWEST_SHARED:
        return np.nan
    errors = [part[:, :count] - part[:, :count].mean(axis=0) for part in errors]
    weights = [1 / max(float(part.var()), float(np.finfo(np.float64).tiny)) for part in errors]
    share = weights[0] / sum(weights)
    scores = share * (before[0] - before[0].mean()) + (1 - share) * (after[0] - after[0].mean())
    # Each use of the errors has resamples of its own.
    of_scores = share * np.roll(errors[0], 2, axis=1) + (1 - share) * np.roll(errors[1], 3, axis=1)
    true = _drawn_true_scores(scores, of_scores)
    sign = -1.0 if direction == "max" else 1.0
    ranks = [
        np.argsort(np.argsort(sign * (true + part), axis=0, kind="stable"), axis=0)
        for part in (errors[0], np.roll(errors[1], 1, axis=1))
    ]
    return float(np.abs(ranks[0] - ranks[1]).mean())


def _drawn_true_scores(scores: Floats, errors: Floats) -> Floats:
    """True scores as the scores and errors allow, of the errors' shape; both about the mean of entries."""
    entries = len(scores)
    unbiased = entries / max(entries - 1, 1)  # both are about their own mean
    variances = unbiased * errors.var(axis=1)
    spread = max(unbiased * float(scores.var()) - float(variances.mean()), 0.0)
    shares = spread / np.maximum(spread + variances, np.finfo(np.float64).tiny)
    drawn: Floats = (shares * scores)[:, None] + np.sqrt(shares)[:, None] * errors
    return drawn


def best_of_tries(tries: int) -> float:
    """The largest of so many scores that differ by chance alone, in standard deviations above their mean.

    Reference: Blom (1958), "Statistical estimates and transformed beta-variables", for the expected normal order statistic.

    >>> [round(best_of_tries(count), 2) for count in (1, 2, 10, 100)]
    [0.0, 0.59, 1.55, 2.5]
    """
    return NormalDist().inv_cdf((tries - 0.375) / (tries + 0.25))


def _errors(replicates: NDArray[np.floating]) -> Floats:
    """Replicates about their mean, on those resamples that all entries have a value on."""
    usable = replicates[:, np.isfinite(replicates).all(axis=0)].astype(np.float64)
    centred: Floats = usable - usable.mean(axis=1, keepdims=True)
    return centred

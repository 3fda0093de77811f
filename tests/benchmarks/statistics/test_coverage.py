"""Shares of intervals, tiers and tests that hold, in simulations whose true scores are known.

Run by hand: ``make bench ONLY=tests/benchmarks/statistics``. Small ones are in tests/unit/scoring/test_standings.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from scoring.metrics import metric
from scoring.metrics.metric import Rows
from scoring.replicates import Deadline, Resampling, replicate_scores
from scoring.standings import intervals, standings
from scoring.statistics import SampledScore

SIZES = (200, 2_000, 147_037)
GROUP = 4  # items of a group
RNG = np.random.default_rng
RANKS = np.arange(1, 11)
CLASS, HIT, FALSE_ALARM = 0.4, 0.8, 0.2  # shares: of the class; of its items found; of other items taken for it


@dataclass(frozen=True)
class Sample:
    """Samples of one distribution, and the score that a sample of endless size has."""

    true: float
    draw: Callable[[np.random.Generator, int], SampledScore]
    is_grouped: bool = False


def as_mean(losses: Any) -> SampledScore:
    return SampledScore(float(losses.mean()), len(losses), losses, lambda places: math.nan)


def scored(name: str, truth: Any, prediction: Any) -> SampledScore:
    chosen, rows = metric(name), Rows(truth, prediction)
    return SampledScore(
        chosen.score(rows), len(truth), chosen.losses(rows), lambda places: chosen.score(rows.take(places))
    )


def draw_mae(rng: np.random.Generator, items: int) -> SampledScore:
    truth = rng.normal(5, 1, items)
    return scored("mae", truth, truth + rng.laplace(0, 1, items))


def draw_accuracy(rng: np.random.Generator, items: int) -> SampledScore:
    truth = (rng.random(items) < CLASS).astype(float)
    return scored("accuracy", truth, np.where(rng.random(items) < HIT, truth, 1 - truth))


def draw_auc(rng: np.random.Generator, items: int) -> SampledScore:
    """Ordered once: that of a resample is a sum over its weights then, for no two predictions are equal."""
    truth = (rng.random(items) < CLASS).astype(float)
    prediction = truth + rng.normal(0, 1, items)
    order = np.argsort(prediction)
    is_of_class = truth[order] == 1

    def of_places(places: Any) -> float:
        weights = np.bincount(places, minlength=items)[order]
        of_class, below = weights * is_of_class, np.cumsum(weights * ~is_of_class)
        return float(of_class @ below) / (float(of_class.sum()) * float(below[-1]))

    whole = metric("roc_auc").score(Rows(truth, prediction))
    assert math.isclose(whole, of_places(np.arange(items)), abs_tol=1e-9)
    return SampledScore(whole, items, None, of_places)


def draw_f1(rng: np.random.Generator, items: int) -> SampledScore:
    truth = (rng.random(items) < CLASS).astype(float)
    hits = rng.random(items) < np.where(truth == 1, HIT, FALSE_ALARM)
    return scored("f_beta", truth, hits.astype(float))


def draw_mrr(rng: np.random.Generator, items: int) -> SampledScore:
    return as_mean(1 / rng.choice(RANKS, items))


def draw_ndcg(rng: np.random.Generator, items: int) -> SampledScore:
    return as_mean(1 / np.log2(1 + rng.choice(RANKS, items)))


def draw_groups(rng: np.random.Generator, items: int) -> SampledScore:
    groups = math.ceil(items / GROUP)
    return as_mean((np.repeat(rng.normal(1, 0.5, groups), GROUP)[:items] + rng.normal(0, 0.5, items)) ** 2)


SAMPLES = {
    "MAE": Sample(1.0, draw_mae),
    "accuracy": Sample(HIT, draw_accuracy),
    "AUC": Sample(NormalDist().cdf(math.sqrt(0.5)), draw_auc),
    "F1": Sample(2 * CLASS * HIT / (CLASS * HIT + CLASS + (1 - CLASS) * FALSE_ALARM), draw_f1),
    "MRR": Sample(float((1 / RANKS).mean()), draw_mrr),
    "nDCG": Sample(float((1 / np.log2(1 + RANKS)).mean()), draw_ndcg),
    "groups": Sample(1.5, draw_groups, is_grouped=True),
}


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("name", SAMPLES)
def test_intervals_hold_the_true_score_as_often_as_they_say(name: str, items: int) -> None:
    sample = SAMPLES[name]
    tries, resamples = (400, 1000) if items < SIZES[-1] else (100, 500)
    resampling = Resampling(name, items, np.arange(items) // GROUP if sample.is_grouped else None)
    held = 0
    for seed in range(tries):
        sampled = sample.draw(RNG([items, seed]), items)
        replicates = replicate_scores(sampled, resampling, deadline=Deadline(600), resamples=resamples)
        assert replicates is not None
        low, high = intervals(np.array([sampled.score]), replicates[None])
        held += bool(low[0] <= sample.true <= high[0])
    error = math.sqrt(0.95 * 0.05 / tries)
    print(f"\n{name:<9} {items:>7} items: {held / tries:.3f} of intervals hold, 0.950 ± {2 * error:.3f} expected")
    assert abs(held / tries - 0.95) <= 2 * error


def board(rows: Any, name: str, *, share_items: int = 0) -> Any:
    resampling = Resampling(name, rows.shape[1])
    drawn = [replicate_scores(as_mean(row), resampling, deadline=Deadline(60)) for row in rows]
    replicates = np.stack([each for each in drawn if each is not None])
    return standings(rows.mean(axis=1), replicates, direction="max", share_items=share_items)


def equal_models(seed: int, items: int, *, is_share: bool) -> Any:
    rng = RNG([items, seed])
    hard = rng.normal(0, 1, items)
    rows = hard + rng.normal(0, 1, (5, items))
    return (rows > 0).astype(float) if is_share else rows


@pytest.mark.parametrize("is_share", [False, True], ids=["means", "shares of right answers"])
@pytest.mark.parametrize("items", SIZES[:2])
def test_equal_models_stand_in_one_tier_as_often_as_the_level_says(items: int, is_share: bool) -> None:
    """Holm's correction over all pairs covers the best of five, too, which its score chose."""
    tries, together, first_is_possible = 400, 0, 0
    for seed in range(tries):
        stands = board(equal_models(seed, items, is_share=is_share), f"{seed}", share_items=items if is_share else 0)
        together += stands.tier.max() == 1
        first_is_possible += stands.first_rank[0] == 1 and stands.last_rank[0] == 5  # of one entry that nobody chose
    error = math.sqrt(0.95 * 0.05 / tries)
    print(
        f"\n{items:>7} items: one tier in {together / tries:.3f}, every rank possible in {first_is_possible / tries:.3f}"
    )
    assert first_is_possible / tries >= 0.95 - 2 * error
    assert together / tries >= 0.95 - 2 * error


def test_a_model_better_by_twice_the_resolution_is_told_apart() -> None:
    tries, apart, items = 400, 0, 2_000
    for seed in range(tries):
        rng = RNG(seed)
        rows = rng.normal(0, 1, items) + rng.normal(0, 0.5, (2, items))
        resolution = board(rows, f"{seed}").resolution
        rows[0] += rows[1].mean() - rows[0].mean() + 2 * resolution
        rows[0] += rng.normal(0, 0.5 * math.sqrt(2 / items))  # the gap of a sample is off by the error of a difference
        apart += board(rows, f"{seed}").tier.tolist() == [1, 2]
    print(f"\ntold apart at twice the resolution: {apart / tries:.3f}")
    assert apart / tries >= 0.95

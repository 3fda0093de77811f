"""Bootstrap statistics: against scipy, against known truths, and for their nominal coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import scoring
from scoring import reference, synthetic
from scoring.errors import ScoringInputError
from scoring.row_scores import sampled_score
from scoring.statistics import (
    SampledScore,
    confidence_interval,
    difference_error,
    probability_better,
    rank_intervals,
    resampled_means,
    tiers,
)


def skewed(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).exponential(1.0, count)


@pytest.mark.parametrize(("ours", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_agree_with_scipys_up_to_resampling_noise(ours: Any, theirs: Any, level: float) -> None:
    samples = skewed(1, 120)
    computed = confidence_interval(samples, level=level, method=ours, resamples=100_000, seed=2)
    rng = np.random.default_rng(3)
    expected = stats.bootstrap(
        (samples,), np.mean, confidence_level=level, n_resamples=100_000, method=theirs, rng=rng, batch=10_000
    )
    spread = expected.standard_error
    assert computed.low == pytest.approx(expected.confidence_interval.low, abs=0.06 * spread)
    assert computed.high == pytest.approx(expected.confidence_interval.high, abs=0.06 * spread)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_intervals_hold_the_true_mean_about_as_often_as_they_say(method: Any) -> None:
    held = 0
    for seed in range(400):
        interval = confidence_interval(skewed(seed, 80), level=0.9, method=method, resamples=600, seed=seed)
        held += interval.low <= 1.0 <= interval.high
    assert 0.85 <= held / 400 <= 0.94  # binomial deviation 0.015; skewed data cost some coverage


def test_bca_intervals_of_skewed_data_lean_to_the_long_side() -> None:
    samples = skewed(0, 60)
    plain, corrected = (confidence_interval(samples, method=method) for method in ("percentile", "bca"))
    assert corrected.high > plain.high
    assert corrected.low > plain.low


def test_p_values_of_two_equal_methods_are_spread_evenly() -> None:
    p_values = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        hard = rng.normal(size=100)
        first, second = hard + rng.normal(size=100), hard + rng.normal(size=100)
        p_values.append(probability_better(first, second, direction="max", resamples=400, seed=seed))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert 0.44 < float(np.mean(p_values)) < 0.56


def test_pairing_tells_apart_what_separate_intervals_cannot() -> None:
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 10, 500)
    first, second = hard + rng.normal(0.2, 0.5, 500), hard + rng.normal(0, 0.5, 500)
    intervals = [confidence_interval(row) for row in (first, second)]
    assert intervals[0].low < intervals[1].high
    assert probability_better(first, second, direction="max") > 0.99
    assert probability_better(first, second, direction="min") < 0.01


def test_equal_entries_are_an_even_chance_and_share_rank_and_tier() -> None:
    row = skewed(4, 200)
    board = np.stack([row, row, row + 5])
    assert probability_better(row, row, direction="max") == 0.5
    assert tiers(board, direction="max") == [2, 2, 1]
    assert tiers(board, direction="min") == [1, 1, 2]
    assert rank_intervals(board, direction="max").tolist() == [[2, 2], [2, 2], [1, 1]]


def test_rank_intervals_widen_where_entries_are_close() -> None:
    rng = np.random.default_rng(5)
    board = rng.normal(size=(4, 300)) + np.array([[3.0], [0.0], [0.01], [-3.0]])
    intervals = rank_intervals(board, direction="max").tolist()
    assert intervals[0] == [1, 1]
    assert intervals[1:3] == [[2, 3], [2, 3]]
    assert intervals[3] == [4, 4]


def test_tiers_follow_the_score_whatever_the_order_of_the_rows() -> None:
    rng = np.random.default_rng(6)
    noise = np.stack([rng.permutation(skewed(6, 400)) for _ in range(6)])  # equal means, other samples
    board = noise + np.array([[2.0], [0.0], [2.0], [1.0], [0.0], [1.0]])
    assert tiers(board, direction="max") == [1, 3, 1, 2, 3, 2]


def test_the_same_seed_gives_the_same_answer_and_another_one_another() -> None:
    samples = skewed(7, 50)
    assert confidence_interval(samples, seed=1) == confidence_interval(samples, seed=1)
    assert confidence_interval(samples, seed=1) != confidence_interval(samples, seed=2)


def test_resamples_are_shared_by_all_entries_and_drawn_with_replacement() -> None:
    samples = np.stack([np.arange(50.0), 2 * np.arange(50.0)])
    means = resampled_means(samples, resamples=500)
    np.testing.assert_allclose(means[:, 1], 2 * means[:, 0])
    assert means[:, 0].std() == pytest.approx(np.arange(50).std() / np.sqrt(50), rel=0.1)


def test_many_samples_are_drawn_in_parts_that_fit_together() -> None:
    samples = np.random.default_rng(8).normal(size=(2, 1_500_000))
    assert resampled_means(samples, resamples=3).shape == (3, 2)


def test_a_constant_score_has_an_interval_of_no_width() -> None:
    interval = confidence_interval(np.full(30, 0.25))
    assert (interval.low, interval.score, interval.high) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"samples": [[1.0]]}, "wrong_shape"),
        ({"samples": []}, "empty_input"),
        ({"samples": [float("nan")]}, "nan"),
        ({"samples": [float("inf")]}, "infinite"),
        ({"samples": [1.0], "level": 1.0}, "bad_parameter"),
        ({"samples": [1.0], "level": float("nan")}, "bad_parameter"),
        ({"samples": [1.0], "resamples": 0}, "bad_parameter"),
    ],
)
def test_what_has_no_interval_is_refused(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(scoring.ScoringInputError) as caught:
        confidence_interval(**arguments)
    assert caught.value.code == code


def test_entries_over_different_samples_are_not_compared() -> None:
    with pytest.raises(scoring.ScoringInputError, match="same samples"):
        probability_better([1.0, 2.0], [1.0], direction="max")


def test_a_direction_that_is_none_is_refused() -> None:
    with pytest.raises(scoring.ScoringInputError, match="'max' or 'min'"):
        probability_better([1.0], [1.0], direction="up")  # type: ignore[arg-type]  # what is tested


def mean_score(values: Any, *, by_formula: bool) -> SampledScore:
    """A mean as a score, with its losses or without them."""
    return SampledScore(
        float(np.mean(values)),
        len(values),
        values if by_formula else None,
        lambda chosen: float(np.mean(values[chosen])),
    )


@pytest.mark.parametrize("is_paired", [False, True])
def test_the_error_of_a_difference_is_its_spread_over_data_drawn_anew(is_paired: bool) -> None:
    def drawn(seed: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        hard = rng.normal(size=300)
        return hard + rng.normal(0, 0.3, 300), hard + rng.normal(0, 0.3, 300) if is_paired else rng.normal(size=200)

    spread = np.std([np.mean(first) - np.mean(second) for first, second in map(drawn, range(2000))])
    for by_formula in (True, False):
        first, second = (mean_score(values, by_formula=by_formula) for values in drawn(0))
        assert difference_error(first, second, is_paired=is_paired) == pytest.approx(spread, rel=0.2)


def test_the_error_of_a_difference_needs_the_same_rows_to_pair_and_two_of_them() -> None:
    single, two, three = (mean_score(np.arange(count, dtype=float), by_formula=True) for count in (1, 2, 3))
    with pytest.raises(ScoringInputError, match="the same items"):
        difference_error(two, three, is_paired=True)
    with pytest.raises(ScoringInputError, match="at least two"):
        difference_error(single, three, is_paired=False)


def test_resamples_that_cannot_be_scored_are_left_out_and_most_of_them_are_refused(tmp_path: Any) -> None:
    labels, predicted = np.array([0, 1] * 30), np.random.default_rng(0).random(60)
    ref = reference.write_metrics(tmp_path / "ref", ["roc_auc"], {"test": labels}).parent
    (tmp_path / "res").mkdir()
    np.savez(tmp_path / "res" / "y_pred_test.npz", y_pred=predicted)
    score = sampled_score(ref, tmp_path / "res", "roc_auc")
    assert score.losses is None
    assert 0.03 < difference_error(score, score, is_paired=False) < 0.2
    assert difference_error(score, score, is_paired=True) == 0.0
    ref = reference.write_metrics(tmp_path / "few", ["roc_auc"], {"test": labels[:2]}).parent
    np.savez(tmp_path / "res" / "y_pred_test.npz", y_pred=predicted[:2])
    score = sampled_score(ref, tmp_path / "res", "roc_auc")
    with pytest.raises(ScoringInputError, match="resamples can be scored"):
        difference_error(score, score, is_paired=False)


def test_at_the_true_size_three_errors_are_about_a_hundredth() -> None:
    for dataset, key, rows in (("lsc-mag240m", "acc", 58_726), ("lsc-wikikg90mv2", "mrr", 10_000)):
        truth, predictions = synthetic.make(dataset, "test-challenge", quality=0.7)
        losses = scoring.per_sample(dataset, truth | predictions)[key].astype(np.float64)
        assert len(losses) == rows
        plain, held_out = mean_score(losses, by_formula=True), mean_score(losses[:10_000], by_formula=True)
        assert 0.008 < 3 * difference_error(held_out, plain, is_paired=False) < 0.02

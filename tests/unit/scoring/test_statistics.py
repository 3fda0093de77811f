"""The error of the difference of two scores, against data drawn anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scoring
from scoring import reference, synthetic
from scoring.errors import ScoringInputError
from scoring.row_scores import sampled_score
from scoring.statistics import SampledScore, difference_error


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

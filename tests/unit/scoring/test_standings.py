"""Intervals, ranges of ranks and tiers: against scipy and known truths, and for how often they hold."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scoring.errors import ScoringInputError
from scoring.forecasts import chances_of_top, expected_rank_change
from scoring.metrics import metric
from scoring.metrics.metric import Metric, Rows
from scoring.replicates import Deadline, Resampling, replicate_scores
from scoring.standings import _Board, _limit, intervals, standings, wilson
from scoring.statistics import SampledScore
from tests.soak import in_soak

RNG = np.random.default_rng
TRIED = 200  # the spread of a coverage of 0.95 over so many is 0.015


def with_losses(losses: Any) -> SampledScore:
    return SampledScore(float(losses.mean()), len(losses), losses, lambda places: float(losses[places].mean()))


def resample(sampled: SampledScore, resampling: Resampling, resamples: int = 1000) -> Any:
    replicates = replicate_scores(sampled, resampling, deadline=Deadline(3600), resamples=resamples)
    assert replicates is not None
    return replicates


def make_board(rows: Any, name: str = "test") -> tuple[Any, Any]:
    """Scores and replicates of entries whose losses are the rows."""
    resampling = Resampling(name, rows.shape[1])
    return rows.mean(axis=1), np.stack([resample(with_losses(row), resampling) for row in rows])


def test_intervals_agree_with_scipys_up_to_resampling_noise() -> None:
    samples = RNG(1).exponential(1.0, 120)
    low, high = intervals(
        np.array([samples.mean()]), resample(with_losses(samples), Resampling("test", 120), 20_000)[None]
    )
    expected = stats.bootstrap((samples,), np.mean, n_resamples=20_000, method="BCa", rng=RNG(3), batch=10_000)
    assert low[0] == pytest.approx(expected.confidence_interval.low, abs=0.1 * expected.standard_error)
    assert high[0] == pytest.approx(expected.confidence_interval.high, abs=0.1 * expected.standard_error)


def drawn_rows(seed: int, count: int) -> tuple[Rows, Rows]:
    """Labels of a class with scores for it, and the same as classes."""
    rng = RNG(seed)
    truth = (rng.random(count) < 0.4).astype(float)
    scores = truth + rng.normal(0, 1, count)
    return Rows(truth, scores), Rows(truth, (scores > 0.5).astype(float))


def rescore(chosen: Metric, rows: Rows, places: Any) -> float:
    return chosen.score(rows.take(places))


@pytest.mark.parametrize(
    ("name", "is_class"),
    [
        ("accuracy", True),
        pytest.param("roc_auc", False, marks=in_soak),
        pytest.param("f_beta", True, marks=in_soak),
        ("mae", False),
    ],
)
def test_intervals_hold_the_true_score_about_as_often_as_they_say(name: str, is_class: bool) -> None:
    chosen, held = metric(name), 0
    truth = chosen.score(drawn_rows(10**6, 400_000)[is_class])
    for seed in range(TRIED):
        rows = drawn_rows(seed, 200)[is_class]
        of_places = partial(rescore, chosen, rows)
        sampled = SampledScore(chosen.score(rows), 200, chosen.losses(rows), of_places)
        replicates = resample(sampled, Resampling("test", 200), 300)
        low, high = intervals(np.array([sampled.score]), replicates[None])
        held += low[0] <= truth <= high[0]
    assert 0.95 - 3 * 0.0154 <= held / TRIED <= 0.95 + 3 * 0.0154


def test_groups_are_drawn_whole_so_that_the_interval_is_as_wide_as_their_number_asks() -> None:
    groups, size = 50, 20
    codes, held, plainly = np.repeat(np.arange(groups), size), 0, 0
    for seed in range(TRIED):
        rng = RNG(seed)
        losses = np.repeat(rng.normal(0, 1, groups), size) + rng.normal(0, 0.5, groups * size)
        for by, name in ((codes, "whole"), (None, "plain")):
            replicates = resample(with_losses(losses), Resampling("test", groups * size, by), 300)
            low, high = intervals(np.array([losses.mean()]), replicates[None])
            holds = low[0] <= 0 <= high[0]
            held, plainly = held + (holds and name == "whole"), plainly + (holds and name == "plain")
    assert held / TRIED > 0.89
    assert plainly / TRIED < 0.6  # what happens without groups


def test_equal_models_land_in_one_tier_about_as_often_as_the_level_says() -> None:
    together = 0
    for seed in range(TRIED):
        rng = RNG(seed)
        hard = rng.exponential(1.0, 200)
        scores, replicates = make_board(hard + rng.exponential(0.5, (5, 200)), f"{seed}")
        together += standings(scores, replicates, direction="min").tier.max() == 1
    assert together / TRIED >= 0.95 - 3 * 0.0154


def test_a_model_better_by_twice_the_resolution_is_told_apart() -> None:
    apart = 0
    for seed in range(TRIED):
        rng = RNG(10**6 + seed)
        hard = rng.exponential(1.0, 400)
        noise = rng.normal(0, 0.5, (2, 400))
        gap = 2 * 1.96 * 0.5 * np.sqrt(2 / 400)  # twice the half width of the interval of their difference
        scores, replicates = make_board(hard + noise + np.array([[0.0], [gap]]), f"{seed}")
        apart += standings(scores, replicates, direction="min").tier.tolist() == [1, 2]
    assert apart / TRIED > 0.95


def test_pairing_tells_apart_what_separate_intervals_cannot() -> None:
    rng = RNG(0)
    hard = rng.normal(0, 10, 500)
    scores, replicates = make_board(np.stack([hard + rng.normal(0.2, 0.5, 500), hard + rng.normal(0, 0.5, 500)]))
    board = standings(scores, replicates, direction="max")
    assert board.low[0] < board.high[1]
    assert board.tier.tolist() == [1, 2]
    assert board.beats_above[1] < 0.01
    assert np.isnan(board.beats_above[0])


def test_equal_entries_share_rank_and_tier_and_are_an_even_chance() -> None:
    row = RNG(4).exponential(1.0, 200)
    scores, replicates = make_board(np.stack([row, row, row + 5]))
    board = standings(scores, replicates, direction="min")
    assert board.tier.tolist() == [1, 1, 2]
    assert list(zip(board.first_rank, board.last_rank, strict=True)) == [(1, 2), (1, 2), (3, 3)]
    assert 0.5 in board.beats_above
    assert standings(scores, replicates, direction="max").tier.tolist() == [2, 2, 1]


@pytest.mark.parametrize("differ", [2, 18, *(pytest.param(number, marks=in_soak) for number in (6, 11, 25, 40))])
def test_shares_that_differ_on_few_items_are_compared_by_mcnemars_exact_test(differ: int) -> None:
    """The number of items comes from replicates, so it may be off by two."""
    items, far = 2000, []
    for seed in range(30):
        rng = RNG(seed)
        rows = np.tile((rng.random(items) < 0.8).astype(float), (2, 1))
        places = rng.choice(items, differ, replace=False)
        first = rng.random(differ) < 0.9
        rows[0, places], rows[1, places] = first, ~first
        scores, replicates = make_board(rows, f"{seed}")
        more = abs(int(first.sum()) - int((~first).sum()))
        exact = stats.binomtest((differ + more) // 2, differ).pvalue
        board = _Board.of(scores, replicates, items)
        far.append(abs(2 * stats.norm.sf(abs(float(board.z(slice(0, 1))[0, 1]))) - exact))
    assert np.median(far) < 0.002
    assert max(far) < 0.03


def test_five_items_of_difference_are_too_few_and_six_are_enough() -> None:
    """By McNemar's test two entries that differ on five items, all won by one, have p = 0.0625."""
    row = (RNG(0).random(500) < 0.5).astype(float)
    right = np.flatnonzero(row == 0)
    for more, tiers in ((5, [1, 1]), (6, [1, 2])):
        better = row.copy()
        better[right[:more]] = 1.0
        scores, replicates = make_board(np.stack([better, row]))
        board = standings(scores, replicates, direction="max", share_items=500)
        assert board.tier.tolist() == tiers
    assert standings(scores, replicates, direction="max").tier.tolist() == [1, 2]


def test_holms_steps_over_all_pairs_are_those_of_the_procedure_one_by_one() -> None:
    for seed in range(50):
        rng = RNG(seed)
        scores, replicates = make_board(rng.normal(0, 1, (7, 60)) + rng.normal(0, 0.5, (7, 1)), f"{seed}")
        board = _Board.of(scores, replicates, 0)
        z = board.z(slice(None))[np.triu_indices(7, 1)]
        p_values = np.sort(2 * stats.norm.sf(np.abs(z)))
        rejected = 0
        while rejected < 21 and p_values[rejected] <= 0.05 / (21 - rejected):
            rejected += 1
        assert (np.abs(z) >= _limit(board.pairs(), 7, 0.95)).sum() == rejected
        stands = standings(scores, replicates, direction="max")
        assert (stands.first_rank - 1).sum() == (7 - stands.last_rank).sum() == rejected


def test_many_entries_come_to_the_same_in_single_precision() -> None:
    rng = RNG(8)
    scores = np.sort(rng.normal(0, 0.02, 2500))
    replicates = scores[:, None] + rng.normal(0, 0.001, (2500, 300))
    many = standings(scores, replicates.astype(np.float32), direction="min")
    few = standings(scores[:40], replicates[:40], direction="min")
    assert abs(int((many.tier == 1).sum()) - int((few.tier == 1).sum())) <= 2
    assert (many.first_rank <= np.arange(1, 2501)).all()
    assert (many.last_rank >= np.arange(1, 2501)).all()


@pytest.mark.parametrize("count", [1, 2])
def test_a_board_of_few_rows_has_ranges(count: int) -> None:
    scores, replicates = make_board(RNG(0).normal(5, 1, (count, 50)) - np.arange(count)[:, None])
    board = standings(scores, replicates, direction="min")
    assert sorted(board.first_rank) == list(range(1, count + 1))
    assert np.isnan(board.resolution) == (count == 1)


def test_resamples_without_a_value_compare_nobody_and_leave_the_intervals_of_others() -> None:
    scores, replicates = make_board(RNG(0).normal(5, 1, (2, 50)))
    holed = replicates.copy()
    holed[1, ::3] = np.nan
    assert standings(scores, holed, direction="min").low[0] == standings(scores, replicates, direction="min").low[0]
    assert np.isfinite(standings(scores, holed, direction="min").low).all()


@pytest.mark.parametrize("shared", [0, 1, 99, 100])
def test_too_few_resamples_that_all_entries_have_a_value_on_tell_nobody_apart(shared: int) -> None:
    scores = np.array([0.1, 0.101, 0.102, 0.3])
    replicates = scores[:, None] + RNG(0).normal(0, 0.01, (4, 1000))
    replicates[0, : 500 - shared] = np.nan
    replicates[1, 500:] = np.nan
    board = standings(scores, replicates, direction="min")
    chances = chances_of_top(scores, replicates, direction="min", top=2)
    if shared < 100:
        assert (board.tier.max(), board.first_rank.max(), board.last_rank.min()) == (1, 1, 4)
        assert np.isnan([board.resolution, *board.beats_above, *chances]).all()
        assert not board.surely_beats.any()
    else:
        assert board.tier.tolist() == [1, 1, 1, 2]
        assert chances[3] == 0
    assert np.isfinite(board.low).all()


@pytest.mark.parametrize("size", [1e-110, 1e-25, 1e22, 1e200])
def test_a_huge_or_tiny_score_has_an_interval_and_leaves_those_of_others(size: float) -> None:
    scores, replicates = make_board(RNG(0).normal(5, 1, (3, 50)))
    low, high = intervals(scores, replicates)
    replicates[1] *= size
    replicates[1, 7] = np.inf
    precision = np.float32 if 1e-38 < size < 1e38 else np.float64
    others = intervals(scores * [1, size, 1], replicates.astype(precision))
    for ends, expected in zip(others, (low, high), strict=True):
        assert ends / [1, size, 1] == pytest.approx(expected, rel=0.01)
    if precision is np.float32:
        assert standings(scores * [1, size, 1], replicates.astype(precision), direction="min").tier[1] in (1, 2)


def test_a_constant_score_has_an_interval_of_no_width_and_wilsons_has_one() -> None:
    low, high = intervals(np.array([1.0]), np.ones((1, 300)))
    assert (low[0], high[0]) == (1.0, 1.0)
    assert wilson(1.0, 30)[0] == pytest.approx(stats.binomtest(30, 30).proportion_ci(method="wilson").low)


@pytest.mark.parametrize(
    ("scores", "replicates", "level"),
    [([1.0], [[1.0], [2.0]], 0.95), ([], np.empty((0, 3)), 0.95), ([1.0], [[1.0]], 1.0)],
    ids=["other lengths", "nothing", "no level"],
)
def test_what_is_no_board_is_refused(scores: Any, replicates: Any, level: float) -> None:
    with pytest.raises(ScoringInputError):
        standings(np.array(scores), np.array(replicates), direction="max", level=level)


@pytest.mark.parametrize("error_after", [1.0, 0.5])
@pytest.mark.parametrize("spread", [0.0, 1.0, *(pytest.param(spread, marks=in_soak) for spread in (0.5, 3.0))])
def test_the_change_of_ranks_that_noise_explains_is_that_of_boards_where_nothing_else_changes(
    spread: float, error_after: float
) -> None:
    """True scores stay. What all entries of a board have in common, such as hard items, moves no rank."""
    entries, expected, seen = 40, [], []
    for seed in range(100):
        rng = RNG([seed, int(10 * spread)])
        true, boards = rng.normal(0, spread, entries), []
        for error in (1.0, error_after):
            scores = true + rng.normal(0, 2) + rng.normal(0, error, entries)
            noise = rng.normal(0, 2, (1, 250)) + rng.normal(0, error, (entries, 250))
            boards.append((scores, scores[:, None] + noise))
        expected.append(expected_rank_change(boards[0], boards[1], direction="max"))
        ranks = [np.argsort(np.argsort(-scores)) for scores, _ in boards]
        seen.append(np.abs(ranks[0] - ranks[1]).mean())
    gaps = np.array(expected) - np.array(seen)
    error_of_mean = gaps.std() / np.sqrt(len(gaps))
    # Where all true scores are equal, their estimated spread is still never below 0: that costs some percent.
    assert abs(gaps.mean()) <= 2 * error_of_mean + (0 if spread else 0.03 * np.mean(seen))

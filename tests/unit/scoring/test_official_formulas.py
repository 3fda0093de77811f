"""Generated inputs: ties, missing labels, tasks of one class, several number types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as arrays_of
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scoring
from tests.unit.scoring import official

FLOATS = st.sampled_from([np.float16, np.float32, np.float64])
NUMBERS = st.sampled_from([np.float16, np.float32, np.float64, np.int32, np.int64, np.int8])
SEEDS = st.integers(0, 2**32 - 1)
Metric = Callable[..., Any]


def coarse(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, levels: int = 7) -> Any:
    """Scores on a coarse grid, so that ties are common."""
    return rng.integers(-levels, levels, shape).astype(dtype)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, rows=st.integers(2, 60), tasks=st.integers(1, 6), dtype=NUMBERS, levels=st.integers(1, 30))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(scoring.roc_auc, official.roc_auc), (scoring.average_precision, official.average_precision)],
    ids=["roc_auc", "average_precision"],
)
def test_ranking_metrics_over_tasks(
    ours: Metric, theirs: Metric, seed: int, rows: int, tasks: int, dtype: Any, levels: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.choice([0.0, 1.0, np.nan], (rows, tasks), p=[0.5, 0.2, 0.3])
    scores = coarse(rng, (rows, tasks), dtype, levels)
    expected = theirs(labels, scores)
    if expected is None:
        with pytest.raises(scoring.ScoringInputError, match="no task holds both classes"):
            ours(labels, scores)
    else:
        assert ours(labels, scores) == pytest.approx(expected, abs=1e-12, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(scores=arrays_of.arrays(np.float64, 20, elements=st.floats(-1e300, 1e300)), seed=SEEDS)
def test_scores_that_differ_in_the_last_bit_are_no_ties(scores: Any, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation([0.0, 1.0] * 10)[:, np.newaxis]
    nudged = np.where(labels[:, 0] == 1, np.nextafter(scores, np.inf), scores)[:, np.newaxis]
    assert scoring.roc_auc(labels, nudged) == pytest.approx(official.roc_auc(labels, nudged), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 60), tasks=st.integers(1, 3), dtype=NUMBERS)
def test_accuracy(seed: int, rows: int, tasks: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.choice([0.0, 1.0, 2.0, np.nan], (rows, tasks))
    labels[0] = 1.0
    predictions = rng.integers(0, 3, (rows, tasks)).astype(dtype)
    assert scoring.accuracy(labels, predictions) == pytest.approx(official.accuracy(labels, predictions), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 60), first=FLOATS, second=FLOATS)
def test_root_mean_squared_error_keeps_the_number_type(seed: int, rows: int, first: Any, second: Any) -> None:
    rng = np.random.default_rng(seed)
    labels, predictions = rng.normal(size=(rows, 1)).astype(first), rng.normal(size=(rows, 1)).astype(second)
    assert scoring.root_mean_squared_error(labels, predictions) == official.root_mean_squared_error(labels, predictions)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 60_000), first=FLOATS, second=FLOATS)
def test_mean_absolute_error(seed: int, rows: int, first: Any, second: Any) -> None:
    rng = np.random.default_rng(seed)
    labels, predictions = rng.normal(size=rows).astype(first), rng.normal(size=rows).astype(second)
    expected = float(np.mean(np.abs(labels - predictions)))
    tolerance = 1e-12 if np.promote_types(first, second) == np.float64 else 1e-6
    assert scoring.mean_absolute_error(labels, predictions) == pytest.approx(expected, abs=tolerance, rel=tolerance)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, positives=st.integers(1, 40), negatives=st.integers(0, 120), k=st.integers(1, 60), dtype=NUMBERS)
def test_hits_at_k(seed: int, positives: int, negatives: int, k: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    above, below = coarse(rng, (positives,), dtype), coarse(rng, (negatives,), dtype)
    assert scoring.hits_at_k(above, below, k) == official.hits_at_k(above, below, k)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, items=st.integers(1, 30), candidates=st.integers(1, 40), dtype=NUMBERS, order=st.sampled_from("CF"))
def test_ranks(seed: int, items: int, candidates: int, dtype: Any, order: Any) -> None:
    rng = np.random.default_rng(seed)
    positives = coarse(rng, (items,), dtype)
    negatives = np.asarray(coarse(rng, (items, candidates), dtype), order=order)
    assert scoring.ranks(positives, negatives).tolist() == official.ranks(positives, negatives)


@pytest.mark.parametrize("candidates", [1015, 1016, 1017, 2032, 2040, 5000])
def test_ranks_count_all_ties_of_wide_rows(candidates: int) -> None:
    positives, negatives = np.zeros(3, np.float32), np.zeros((3, candidates), np.float32)
    negatives[1, :300] = 1
    negatives[2, 300:] = -1
    assert scoring.ranks(positives, negatives).tolist() == official.ranks(positives, negatives)


def test_ranks_of_a_large_input_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(size=4000), rng.normal(size=(4000, 300))
    answers = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SCORING_THREADS", threads)
        answers.append(scoring.ranks(positives, negatives).tolist())
    assert answers[0] == answers[1]


def test_int64_scores_against_float32_are_compared_in_float32_as_torch_does() -> None:
    positives, negatives = np.array([2**24 + 1]), np.array([[2**24]], np.float32)
    assert scoring.ranks(positives, negatives).tolist() == [1.5]


def test_hits_at_k_keeps_integers_beyond_two_to_the_53_apart() -> None:
    assert scoring.hits_at_k(np.array([2**53 + 1]), np.array([2**53]), k=1) == 1.0


def test_hits_at_k_compares_float32_with_float64_in_float64() -> None:
    assert scoring.hits_at_k(np.full(4, 0.1, np.float32), np.array([0.1]), k=1) == 1.0


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 50), dtype=st.sampled_from([np.int32, np.int64, np.float64]))
@pytest.mark.parametrize("duplicates", [False, True])
def test_top10_mean_reciprocal_rank(duplicates: bool, seed: int, rows: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    predictions = np.argsort(rng.random((rows, 15)), axis=1)[:, :10]
    predictions[rng.random((rows, 10)) < 0.1] = -1
    if duplicates:
        predictions[rng.integers(rows), [2, 7]] = 4
    truth = rng.integers(0, 15, rows)
    ours = scoring.top10_mean_reciprocal_rank(predictions.astype(dtype), truth)
    assert ours == pytest.approx(official.top10_mrr(predictions, truth), abs=1e-12)


def test_a_duplicate_in_the_last_of_many_rows_is_found() -> None:
    predictions = np.tile(np.arange(10), (10_000, 1))
    truth = np.zeros(10_000, np.int64)
    assert scoring.top10_mean_reciprocal_rank(predictions, truth) == 1.0
    predictions[-1, 9] = 0
    assert scoring.top10_mean_reciprocal_rank(predictions, truth) == 0.0


@pytest.mark.parametrize("dtype", [np.int16, np.int32])
def test_a_true_id_beyond_the_predictions_type_matches_nothing(dtype: Any) -> None:
    predictions = np.arange(10, dtype=dtype)[np.newaxis]
    beyond = 4 + 2 ** (8 * predictions.itemsize)  # would wrap around to 4
    assert scoring.top10_mean_reciprocal_rank(predictions, [beyond]) == 0.0
    assert scoring.hits_at_10(predictions, predictions, [[beyond, 0, 4]]) == 0.5


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 50), dtype=st.sampled_from([np.int32, np.int64]))
def test_openbiolink_hits_at_10(seed: int, rows: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    heads, tails = (rng.integers(-1, 20, (rows, 10)).astype(dtype) for _ in range(2))
    triples = rng.integers(0, 20, (rows, 3))
    assert scoring.hits_at_10(heads, tails, triples) == official.hits_at_10(heads, tails, triples)


@pytest.mark.parametrize("rows", [4095, 4096, 4097, 8193])
def test_blocks_of_rows_lose_nothing_at_their_borders(rows: int) -> None:
    rng = np.random.default_rng(rows)
    heads, tails = rng.integers(0, 30, (2, rows, 10))
    triples = rng.integers(0, 30, (rows, 3))
    assert scoring.hits_at_10(heads, tails, triples) == official.hits_at_10(heads, tails, triples)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 60))
def test_balanced_accuracy_is_the_mean_recall(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(0, 4, rows), rng.integers(0, 5, rows)
    recalls = [np.mean(prediction[truth == name] == name) for name in set(truth.tolist())]
    score = scoring.evaluate("balanced_accuracy", {"y_true": truth, "y_pred": prediction})["balanced_accuracy"]
    assert score == pytest.approx(float(np.mean(recalls)), abs=1e-12)

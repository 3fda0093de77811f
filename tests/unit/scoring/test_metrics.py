"""Every metric of tables agrees with its reference and is what its entry says."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Metric, Rows, mean_over_groups
from tests.unit.scoring.metric_references import EVERY, REFERENCES, rows_for

SEEDS = (1, 2)


def test_every_metric_has_a_reference() -> None:
    assert set(REFERENCES) == set(METRICS)
    assert len(METRICS) >= 45


def test_every_metric_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "tables.md").read_text()
    assert [name for name in METRICS if f"| `{name}`" not in page] == []


@EVERY
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_metric_equals_its_reference(metric: Metric, weighted: bool) -> None:
    for seed in SEEDS:
        rows = rows_for(metric, seed=seed, weighted=weighted)
        if weighted and not metric.weighted:
            with pytest.raises(ScoringInputError, match="takes no weights"):
                metric.score(rows)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # references warn of absent classes
            expected = REFERENCES[metric.name](rows, **metric.settings({}))
        assert metric.score(rows) == pytest.approx(expected, abs=1e-9, rel=1e-9)


@EVERY
def test_a_metric_is_what_its_entry_says(metric: Metric) -> None:
    low, high = metric.range
    rows = rows_for(metric, seed=3)
    score = metric.score(rows)
    assert low is None or score >= low
    assert high is None or score <= high
    assert metric.source
    assert metric.help.endswith(".")
    order = np.random.default_rng(4).permutation(len(rows.truth))
    assert metric.score(rows.take(order)) == pytest.approx(score, abs=1e-9)


@EVERY
def test_the_perfect_answer_is_the_best(metric: Metric) -> None:
    if metric.name in ("crps_normal", "normal_log_loss", "coverage_gap", "risk_concordance"):
        return  # a certain distribution has no density, and a risk is no time
    best = metric.score(rows_for(metric, seed=5, perfect=True))
    other = metric.score(rows_for(metric, seed=5))
    assert best >= other if metric.direction == "max" else best <= other
    if metric.perfect is not None:
        assert best == pytest.approx(metric.perfect, abs=1e-9)


@EVERY
def test_losses_average_to_the_score(metric: Metric) -> None:
    rows = rows_for(metric, seed=6, weighted=metric.weighted)
    losses = metric.losses(rows)
    if losses is None:
        assert not metric.is_mean_over_rows
    else:
        mean = rows.mean(losses)
        assert (metric.finish(mean) if metric.finish else mean) == pytest.approx(metric.score(rows), abs=1e-12)


def test_a_mean_over_groups_leaves_out_groups_without_a_value() -> None:
    rows = Rows(np.array([0, 1, 1, 1]), np.array([0.1, 0.9, 0.5, 0.6]), group=np.array([0, 0, 4, 4]))
    assert mean_over_groups(METRICS["roc_auc"], rows) == 1.0


@pytest.mark.parametrize("given", [{"k": 0}, {"k": 1.5}, {"k": math.nan}, {"k": True}, {"n": 3}])
def test_a_wrong_parameter_is_named(given: dict[str, float]) -> None:
    with pytest.raises(ScoringInputError, match=f"^{next(iter(given))}: "):
        METRICS["map_at_k"].settings(given)


def test_one_class_alone_has_no_roc_auc() -> None:
    with pytest.raises(ScoringInputError, match="only one of the two classes"):
        METRICS["roc_auc"].score(Rows(np.ones(3), np.ones(3)))


@pytest.mark.parametrize("exponent", [1020, 530, 500, -500, -530, -1000])
def test_a_correlation_is_the_same_for_values_of_every_size(exponent: int) -> None:
    rng = np.random.default_rng(4)
    truth, prediction = rng.normal(size=(2, 50))
    right = METRICS["pearson"].score(Rows(truth, prediction))
    scaled = np.ldexp(prediction, exponent)
    assert METRICS["pearson"].score(Rows(truth, scaled)) == right
    assert METRICS["pearson"].score(Rows(scaled, truth)) == right
    assert METRICS["pearson"].score(Rows(scaled, scaled)) == pytest.approx(1.0, abs=1e-15)

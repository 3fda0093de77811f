"""Every metric agrees with its reference, is what its entry says, and stands on the page as it is."""

from __future__ import annotations

import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scoring
from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Metric, Prediction, Rows, Subject, Target, mean_over_groups
from tests.unit.scoring.metric_references import EVERY, REFERENCES, rows_for

SEEDS = (1, 2)


def test_every_metric_has_a_reference() -> None:
    assert set(REFERENCES) == set(METRICS)
    assert len(METRICS) >= 45


def on_the_page(metric: Metric) -> str:
    """The row of docs/scoring.md; a new metric's can be copied from where the test fails."""
    settings = ", ".join(f"{known.name}={known.default}" for known in metric.parameters)
    kinds = {"number": "numbers", "positive": "numbers above 0", "probability": "probabilities", "binary": "0 and 1"}
    layouts = {
        "per class": "a probability for each class",
        "per level": "a column for each quantile",
        "per member": "a column for each member",
        "named": ", ".join(metric.prediction.roles),
    }
    plain = kinds.get(metric.prediction.kind, "classes" if metric.prediction.kind == "class" else "texts")
    low, high = ("\u2212∞" if metric.range[0] is None else f"{metric.range[0]:g}", metric.range[1])
    is_mean = "yes" if metric.is_mean_over_rows else "a function of one" if metric.per_row else "no"
    cells = (
        f"`{metric.name}`" + (f" ({settings})" if settings else ""),
        metric.title,
        "higher" if metric.direction == "max" else "lower",
        f"{low} to {'∞' if high is None else f'{high:g}'}",
        layouts.get(metric.prediction.layout, plain),
        "yes" if metric.takes_vectors else "",
        is_mean,
        metric.source.removeprefix("scikit-learn: ").replace("|", "\\|"),
    )
    return "| " + " | ".join(cells) + " |"


@EVERY
def test_a_metric_stands_on_the_page_as_it_is(metric: Metric) -> None:
    assert on_the_page(metric) in (Path(__file__).parents[3] / "docs" / "scoring.md").read_text()


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
        return  # a certain distribution has no density, and a risk is not a time
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


@pytest.mark.parametrize("given", [{"k": 0}, {"k": 1.5}, {"k": math.nan}, {"k": 10**400}, {"k": True}, {"n": 3}])
def test_a_wrong_parameter_is_named(given: dict[str, float]) -> None:
    with pytest.raises(ScoringInputError, match=f"^{next(iter(given))}: "):
        METRICS["map_at_k"].settings(given)


def test_one_class_alone_has_no_roc_auc() -> None:
    with pytest.raises(ScoringInputError, match="only one of the two classes"):
        METRICS["roc_auc"].score(Rows(np.ones(3), np.ones(3)))


@pytest.mark.parametrize("name", ["r_squared", "explained_variance", "pearson", "concordance_correlation"])
def test_a_constant_truth_has_no_score_although_its_mean_is_rounded(name: str) -> None:
    truth = np.full(3, 0.1)
    assert truth.mean() != 0.1
    with pytest.raises(ScoringInputError, match="values are equal"):
        METRICS[name].score(Rows(truth, truth))


@pytest.mark.parametrize("name", ["r_squared", "explained_variance", "pearson", "concordance_correlation"])
def test_values_that_differ_in_rows_of_weight_zero_alone_are_equal(name: str) -> None:
    truth, weight = np.array([0.1, 0.1, 0.1, 7.0]), np.array([1.0, 1.0, 1.0, 0.0])
    with pytest.raises(ScoringInputError, match="values are equal"):
        METRICS[name].score(Rows(truth, truth, weight))
    assert METRICS["pearson"].score(Rows(np.arange(4.0), truth, weight)) == 0.0, "as for constant predictions"


def test_a_class_of_weight_zero_is_left_out() -> None:
    shares = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6]])
    rows = Rows(np.arange(3), shares, np.array([1.0, 1.0, 0.0]), classes=3)
    assert METRICS["macro_roc_auc"].score(rows) == 1.0


def test_relevances_are_not_negative() -> None:
    rows = Rows(np.array([1.0, -1.0]), np.array([0.5, 0.9]), group=np.zeros(2, dtype=np.int64))
    with pytest.raises(ScoringInputError, match="relevance is below 0"):
        METRICS["group_ndcg"].score(rows)


@pytest.mark.parametrize("name", ["poisson_deviance", "gamma_deviance"])
def test_a_prediction_next_to_zero_is_its_teams_fault(name: str) -> None:
    with pytest.raises(ScoringInputError) as refused:
        METRICS[name].score(Rows(np.ones(2), np.array([1.0, 1e-320])))
    assert (refused.value.code, refused.value.where) == ("infinite", "prediction")


@pytest.mark.parametrize("exponent", [1020, 530, 500, -500, -530, -1000])
def test_a_correlation_is_the_same_for_values_of_every_size(exponent: int) -> None:
    rng = np.random.default_rng(4)
    truth, prediction = rng.normal(size=(2, 50))
    right = METRICS["pearson"].score(Rows(truth, prediction))
    scaled = np.ldexp(prediction, exponent)
    assert METRICS["pearson"].score(Rows(truth, scaled)) == right
    assert METRICS["pearson"].score(Rows(scaled, truth)) == right
    assert METRICS["pearson"].score(Rows(scaled, scaled)) == pytest.approx(1.0, abs=1e-15)


VECTORS = pytest.mark.parametrize("name", scoring.metric_names())


@VECTORS
def test_two_arrays_score_as_the_columns_of_a_table(name: str) -> None:
    metric = METRICS[name]
    rows = rows_for(metric, seed=7)
    score = metric.score(rows)
    arrays = {"y_true": rows.truth, "y_pred": rows.prediction}
    assert scoring.evaluate(name, arrays)[name] == pytest.approx(score, abs=1e-12)
    named_otherwise = {key: 10 * values + 3 for key, values in arrays.items()}
    if metric.prediction.kind == "class" and name != "quadratic_weighted_kappa":
        assert scoring.evaluate(name, named_otherwise)[name] == pytest.approx(score, abs=1e-12)


@VECTORS
def test_the_samples_of_two_arrays_average_to_the_score(name: str) -> None:
    rows = rows_for(METRICS[name], seed=8)
    arrays = {"y_true": rows.truth, "y_pred": rows.prediction}
    if not METRICS[name].is_mean_over_rows:
        with pytest.raises(ScoringInputError, match="not a mean"):
            scoring.per_sample(name, arrays)
        return
    mean = float(scoring.per_sample(name, arrays)[name].mean(dtype=np.float64))
    assert mean == pytest.approx(scoring.evaluate(name, arrays)[name], rel=1e-6)


def test_a_row_without_a_label_does_not_count() -> None:
    arrays = {"y_true": [1.0, math.nan, 3.0], "y_pred": [1.0, 9.0, 5.0]}
    assert scoring.evaluate("mae", arrays) == {"mae": 1.0}
    assert scoring.per_sample("mae", arrays)["mae"].tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("name", "truth", "prediction", "code"),
    [
        ("mae", [1.0], [math.nan], "nan"),
        ("mae", [1.0], [math.inf], "infinite"),
        ("mae", [math.nan], [1.0], "no_labelled_rows"),
        ("mae", [1.0, 2.0], [1.0], "wrong_shape"),
        ("mae", [[1.0]], [[1.0]], "wrong_shape"),
        ("mae", [], [], "empty_input"),
        ("accuracy", [1, 2], [1.5, 2.0], "out_of_range"),
        ("roc_auc", [0, 2], [0.5, 2.0], "not_binary"),
        ("recall", [0, 1], [0.5, 1.0], "not_binary"),
        ("log_loss", [0, 1], [0.5, 1.5], "out_of_range"),
        ("poisson_deviance", [0, 1], [0.0, 1.5], "out_of_range"),
        ("bleu", ["a"], ["a"], "unknown_name"),
        ("group_mrr", [1.0], [1.0], "unknown_name"),
    ],
)
def test_arrays_that_a_metric_cannot_take_are_refused(name: str, truth: Any, prediction: Any, code: str) -> None:
    with pytest.raises(ScoringInputError) as refused:
        scoring.evaluate(name, {"y_true": np.array(truth), "y_pred": np.array(prediction)})
    assert refused.value.code == code


def test_a_long_prediction_costs_little_more_than_its_words() -> None:
    """A team sends it as often as it likes: a scoring program that is out of time is not its fault."""
    began = time.process_time()
    score = METRICS["rouge_l"].score(Rows(np.array(["a b c d e f g h " * 50]), np.array(["b a " * 50_000])))
    assert score == pytest.approx(2 * 100 / 100_400)
    assert time.process_time() - began < 1


def test_two_metrics_cannot_have_one_name() -> None:
    subject = Subject(group="regression", direction="min", target=Target("number"), prediction=Prediction("number"))
    with pytest.raises(ValueError, match="two metrics are called mae"):
        subject.whole("mae", "Another", "formula")(lambda rows: 0.0)
    assert METRICS["mae"].title == "Mean absolute error"

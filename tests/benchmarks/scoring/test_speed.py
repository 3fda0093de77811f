"""Speed and memory of the evaluators at true size, as ratios within one run, in a printed table.

"passes" is the time over that of `np.sum` on the same arrays, "official" the time of the official formula, written plainly
in numpy or scikit-learn, over ours. Run by hand: ``make bench ONLY=tests/benchmarks/scoring``.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import scoring
from scoring import synthetic
from scoring.benchmarks.parallel import threads
from scoring.formats import submissions

Inputs = Mapping[str, Any]
Official = Callable[[Inputs], float]


def seconds(work: Callable[[], object], *, budget: float = 1.5) -> float:
    """Best of as many runs as fit the budget, at least three."""
    best, started, runs = float("inf"), time.perf_counter(), 0
    while runs < 3 or (time.perf_counter() - started < budget and runs < 200):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
        runs += 1
    return best


def one_pass(inputs: Inputs) -> None:
    for array in inputs.values():
        np.sum(array)


def extra_memory(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def accuracy(inputs: Inputs) -> float:
    return float((inputs["y_true"] == inputs["y_pred"]).sum()) / len(inputs["y_true"])


def mae(inputs: Inputs) -> float:
    return float(np.mean(np.absolute(inputs["y_true"] - inputs["y_pred"])))


def h10(inputs: Inputs) -> float:
    triples = inputs["triples"]
    tails = (inputs["t_pred_top10"] == triples[:, 2:3]).any(axis=1).sum()
    heads = (inputs["h_pred_top10"] == triples[:, 0:1]).any(axis=1).sum()
    return float(tails + heads) / (2 * len(triples))


def ranked_mrr(inputs: Inputs) -> float:
    positives = inputs["y_pred_pos"].reshape(-1, 1)
    above = (inputs["y_pred_neg"] > positives).sum(axis=1)
    at_or_above = (inputs["y_pred_neg"] >= positives).sum(axis=1)
    return float(np.mean(1.0 / (1 + 0.5 * (above + at_or_above))))


def top10_mrr(inputs: Inputs) -> float:
    predictions = inputs["t_pred_top10"]
    truth = inputs["t_correct_index" if "t_correct_index" in inputs else "t"]
    for row in predictions:
        real = row[row >= 0]
        if len(real) != len(np.unique(real)):
            return 0.0
    rows, places = np.nonzero(predictions == truth.reshape(-1, 1))
    values = np.zeros(len(truth), np.float32)
    values[rows] = 1.0 / (places + 1.0)
    return float(values.mean())


def hits_at_100(inputs: Inputs) -> float:
    threshold = np.sort(inputs["y_pred_neg"])[-100]
    return float(np.sum(inputs["y_pred_pos"] > threshold)) / len(inputs["y_pred_pos"])


def per_task(metric: Callable[..., float]) -> Official:
    def official(inputs: Inputs) -> float:
        truth, score = inputs["y_true"], inputs["y_pred"]
        values = []
        for task in range(truth.shape[1]):
            known = truth[:, task] == truth[:, task]
            values.append(metric(truth[known, task], score[known, task]))
        return sum(values) / len(values)

    return official


CASES: list[tuple[str, str, int | None, Official, float]] = [
    # dataset, split, rows (None: true size), official formula, tolerance
    ("lsc-mag240m", "test-dev", None, accuracy, 0.0),
    ("lsc-pcqm4mv2", "test-dev", None, mae, 1e-12),
    ("obl2021", "test", None, h10, 1e-6),
    ("lsc-wikikg90mv2", "test-dev", None, top10_mrr, 1e-6),
    ("lsc-wikikg90m", "test", None, top10_mrr, 1e-6),
    ("ogbl-ppa", "test", None, hits_at_100, 0.0),
    ("ogbn-proteins", "test", None, per_task(roc_auc_score), 1e-12),
    ("ogbg-molpcba", "test", None, per_task(average_precision_score), 1e-12),
    ("ogbl-citation2", "test", None, ranked_mrr, 1e-6),
    ("ogbl-wikikg2", "test", 598_543, ranked_mrr, 1e-6),
]


@pytest.mark.parametrize(
    ("dataset", "split", "rows", "official", "tolerance"), CASES, ids=[f"{case[0]}" for case in CASES]
)
def test_an_evaluator_at_true_size(
    dataset: str, split: str, rows: int | None, official: Official, tolerance: float
) -> None:
    truth, predictions = synthetic.make(dataset, split, rows=rows)
    inputs = truth | predictions
    primary = scoring.describe(dataset)["primary"]
    assert scoring.evaluate(dataset, inputs)[primary] == pytest.approx(official(inputs), abs=tolerance, rel=tolerance)
    size = sum(array.nbytes for array in inputs.values())
    ours = seconds(lambda: scoring.evaluate(dataset, inputs))
    memory = extra_memory(lambda: scoring.evaluate(dataset, inputs))
    summed, plain = seconds(lambda: one_pass(inputs)), seconds(lambda: official(inputs), budget=0.1)
    print(
        f"\n{dataset:16} {size / 1e6:8.1f} MB {ours * 1e3:9.2f} ms  {ours / summed:5.1f} passes  "
        f"official/ours {plain / ours:6.1f}  extra memory {memory / size:5.2f} of the input  threads {threads()}"
    )


@pytest.mark.parametrize(
    "dataset", ["lsc-pcqm4mv2", "obl2021", "ogbl-citation2", "ogbn-proteins", "ogbg-molpcba", "ogbl-ppa"]
)
def test_time_grows_with_the_input(dataset: str) -> None:
    split = next(name for name in scoring.describe(dataset)["splits"] if name.startswith("test"))
    full = scoring.describe(dataset)["splits"][split] or 0
    line = []
    for rows in (full // 16, full // 4, full):
        truth, predictions = synthetic.make(dataset, split, rows=rows)
        spent = seconds(lambda inputs=truth | predictions: scoring.evaluate(dataset, inputs), budget=0.7)  # type: ignore[misc]
        line.append(f"{rows:>9,} rows {spent * 1e3:8.2f} ms {spent / rows * 1e9:8.1f} ns/row")
    print(f"\n{dataset:16} " + "   ".join(line))


@pytest.mark.parametrize("dataset", ["ogbl-citation2", "ogbn-proteins", "ogbg-molpcba"])
def test_a_second_core_helps(dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, predictions = synthetic.make(dataset)
    inputs = truth | predictions
    spent = {}
    for count in (1, 2):
        monkeypatch.setenv("SCORING_THREADS", str(count))
        spent[count] = seconds(lambda: scoring.evaluate(dataset, inputs))
    print(f"\n{dataset:16} one thread {spent[1] * 1e3:8.2f} ms, two threads {spent[1] / spent[2]:.2f} times faster")


@pytest.mark.parametrize(
    ("dataset", "split"),
    [("lsc-mag240m", "test-dev"), ("lsc-pcqm4mv2", "test-dev"), ("lsc-wikikg90m", "test"), ("obl2021", "test")],
)
def test_a_check_against_numpys_own_reader(dataset: str, split: str, tmp_path: Any) -> None:
    _, predictions = synthetic.make(dataset, split)
    path = submissions.write(tmp_path, dataset, split, predictions)

    def numpys() -> None:
        with np.load(path) as stored:
            _ = [stored[name] for name in stored.files]

    ours, theirs = seconds(lambda: submissions.check(path, dataset, split)), seconds(numpys)
    print(f"\n{dataset:16} check {ours * 1e3:8.2f} ms, {ours / theirs:.2f} times numpy.load")


def test_the_bootstrap_of_a_board(tmp_path: Any) -> None:
    from scoring.forecasts import chances_of_top
    from scoring.replicates import Deadline, Resampling, replicate_scores
    from scoring.standings import standings
    from scoring.statistics import SampledScore

    losses = np.abs(np.random.default_rng(0).normal(size=147_037))
    sampled = SampledScore(float(losses.mean()), len(losses), losses, lambda places: 0.0)
    spent = seconds(lambda: replicate_scores(sampled, Resampling("test", len(losses)), deadline=Deadline(60)), budget=1)
    print(f"\n1,000 replicates of a mean over 147,037 samples: {spent:.2f} s")
    scores = np.sort(np.random.default_rng(1).normal(0, 0.01, 10_000))
    replicates = scores[:, None] + np.random.default_rng(2).normal(0, 0.001, (10_000, 1000))
    single = replicates.astype(np.float32)
    began = time.process_time()
    standings(scores, single, direction="min")
    chances_of_top(scores, single, direction="min", top=10)
    spent = time.process_time() - began
    print(f"\nranges of ranks, tiers and chances of 10,000 entries: {spent:.2f} s of processor time")
    assert spent < 2

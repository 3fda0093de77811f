"""Scores on resamples: the same for all entries, rightly spread, as many as there is time for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from scoring import program, reference, replicates, synthetic
from scoring.errors import ScoringInputError
from scoring.formats import seed_results, submissions
from scoring.replicates import (
    LOSSES_FILE,
    REPLICATES_FILE,
    Deadline,
    Replicates,
    Resampling,
    read,
    read_losses,
    replicate_scores,
    write_losses,
)
from scoring.statistics import SampledScore
from scoring.tables import table_reference
from scoring.tables.table_reference import ChosenMetric

RNG = np.random.default_rng


def with_losses(losses: Any) -> SampledScore:
    return SampledScore(float(losses.mean()), len(losses), losses, lambda places: float(losses[places].mean()))


def without_losses(losses: Any) -> SampledScore:
    return SampledScore(float(losses.mean()), len(losses), None, lambda places: float(losses[places].mean()))


def on(sampled: SampledScore, resampling: Resampling, **more: Any) -> Any:
    return replicate_scores(sampled, resampling, **({"deadline": Deadline(3600)} | more))


def test_a_weighted_mean_is_the_mean_of_the_items_that_were_drawn() -> None:
    losses = RNG(0).normal(size=9000)  # more than one block of items
    by_weights, by_items = (on(make(losses), Resampling("test", 9000)) for make in (with_losses, without_losses))
    np.testing.assert_allclose(by_weights, by_items, atol=2e-6)
    assert by_weights.std() == pytest.approx(losses.std() / np.sqrt(9000), rel=0.1)


def test_the_resamples_follow_from_the_test_set_alone() -> None:
    losses = RNG(0).normal(size=300)
    first = on(with_losses(losses), Resampling("test", 300))
    assert (first == on(with_losses(losses), Resampling("test", 300))).all()
    assert (first != on(with_losses(losses), Resampling("other", 300))).any()
    np.testing.assert_allclose(on(with_losses(2 * losses), Resampling("test", 300)), 2 * first, rtol=1e-5)
    assert (on(with_losses(losses), Resampling("test", 300), resamples=250) == first[:250]).all()


def test_strata_keep_their_share() -> None:
    strata = np.repeat([0, 1], 100)
    losses = np.where(strata == 0, 0.0, 10.0)
    assert on(with_losses(losses), Resampling("test", 200, strata=strata)).std() == pytest.approx(0, abs=1e-6)
    assert on(with_losses(losses), Resampling("test", 200)).std() > 0.2
    with pytest.raises(ScoringInputError, match="strata"):
        on(without_losses(losses), Resampling("test", 200, strata=strata))


def test_a_slow_metric_gets_fewer_replicates_and_one_that_is_too_slow_none() -> None:
    losses, clock = RNG(0).normal(size=50), iter(range(100_000))

    class Ticking(Deadline):
        """Every look at the time takes a second."""

        @property
        def left(self) -> float:
            return self.seconds - next(clock)

    assert 200 <= len(on(without_losses(losses), Resampling("test", 50), deadline=Ticking(400))) < 1000
    assert on(without_losses(losses), Resampling("test", 50), deadline=Ticking(next(clock) + 150)) is None


def test_resamples_without_a_value_are_no_numbers_and_most_of_them_give_none() -> None:
    def sometimes(share: float) -> SampledScore:
        def score(places: Any) -> float:
            if places.sum() % 100 < 100 * share:
                raise ScoringInputError("no_scorable_task", "the solution", "one class", "add rows")
            return 1.0

        return SampledScore(1.0, 500, None, score)

    assert 0.1 < np.isnan(on(sometimes(0.3), Resampling("test", 500))).mean() < 0.5
    assert on(sometimes(0.9), Resampling("test", 500)) is None


def run(folder: Path, seconds: str = "3600", monkeypatch: pytest.MonkeyPatch | None = None) -> dict[str, Replicates]:
    """Run the scoring program; the replicates that it writes beside its scores."""
    if monkeypatch is not None:
        monkeypatch.setenv(replicates.SECONDS_VARIABLE, seconds)
    assert program.main([str(folder / "input"), str(folder / "output")]) == 0
    path = folder / "output" / REPLICATES_FILE
    return read(path) if path.exists() else {}


def pcqm(folder: Path, rows: int = 500) -> float:
    labels, predictions = synthetic.make("lsc-pcqm4mv2", "test-dev", rows=rows)
    reference.write(folder / "input" / "ref", "lsc-pcqm4mv2", {"test-dev": labels})
    (folder / "input" / "res").mkdir()
    submissions.write(folder / "input" / "res", "lsc-pcqm4mv2", "test-dev", predictions, rows=rows)
    return float(np.abs(labels["y_true"] - predictions["y_pred"]).std() / np.sqrt(rows))


def test_the_programs_write_replicates_where_they_are_given_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = pcqm(tmp_path)
    assert run(tmp_path) == {}
    written = run(tmp_path, monkeypatch=monkeypatch)["mae"]
    score = json.loads((tmp_path / "output" / "scores.json").read_text())["mae"]
    assert written.values.shape == (1000,)
    assert written.values.mean() == pytest.approx(score, abs=error)
    assert written.values.std() == pytest.approx(error, rel=0.15)


def test_results_of_seeds_are_spread_as_their_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "input" / "res").mkdir(parents=True)
    reference.write_results(tmp_path / "input" / "ref", "ogbn-arxiv")
    test = RNG(0).normal(0.7, 0.01, 10).tolist()
    seed_results.write(tmp_path / "input" / "res", "ogbn-arxiv", valid=test, test=test, seeds=range(10))
    written = run(tmp_path, monkeypatch=monkeypatch)
    assert set(written) == {"acc", "acc_valid"}
    assert written["acc"].values.std() == pytest.approx(np.std(test, ddof=1) / np.sqrt(10), rel=0.1)


OWN = """
def score(solution, submission, row_id_column_name):
    return float((solution["price"] - submission["price"]).abs().mean())
"""


def table(folder: Path, *chosen: ChosenMetric, own: bytes | None = None, **more: Any) -> None:
    rng = RNG(0)
    solution = pl.DataFrame(
        {"id": range(120), "price": rng.normal(size=120), "g": [row % 12 for row in range(120)], "s": [0, 1] * 60}
    )
    known = table_reference.reference_for(solution, list(chosen), id_column="id", targets=["price"], group="g")
    known = table_reference.TableReference(**{**vars(known), **more})
    table_reference.write(folder / "input" / "ref", solution, known, metric_file=own)
    (folder / "input" / "res").mkdir()
    solution.select("id", price=pl.col("price") + pl.Series(rng.normal(size=120))).write_csv(
        folder / "input" / "res" / "p.csv"
    )


def test_metrics_of_tables_have_replicates_one_by_one_by_groups_and_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = [ChosenMetric("mae"), ChosenMetric("rmse"), ChosenMetric("mae", key="by_group", per_group=True)]
    table(tmp_path, *metrics, ChosenMetric("r_squared"), ChosenMetric("metric.py", key="own"), own=OWN.encode())
    written = run(tmp_path, monkeypatch=monkeypatch)
    scores = json.loads((tmp_path / "output" / "scores.json").read_text())
    assert set(written) == set(scores) == {"mae", "rmse", "by_group", "r_squared", "own"}
    for key, each in written.items():
        assert abs(np.nanmedian(each.values) - scores[key]) < 2 * np.nanstd(each.values), key
    np.testing.assert_allclose(written["own"].values, written["mae"].values, rtol=1e-5)
    assert written["by_group"].stream != written["mae"].stream == written["own"].stream


def test_a_table_names_the_columns_by_which_rows_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(tmp_path / "plain", ChosenMetric("mae"))
    table(tmp_path / "groups", ChosenMetric("mae"), resample_by="g")
    table(tmp_path / "strata", ChosenMetric("mae"), strata="s")
    written = {name: run(tmp_path / name, monkeypatch=monkeypatch)["mae"] for name in ("plain", "groups", "strata")}
    assert len({each.stream for each in written.values()}) == 3


def test_what_has_no_replicates_is_said_in_the_log_and_scored_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path, ChosenMetric("r_squared"))
    assert run(tmp_path, "0.000001", monkeypatch) == {}
    assert "no replicates of r_squared: fewer than 200" in capsys.readouterr().err


def test_losses_are_made_replicates_where_they_are_read(tmp_path: Path) -> None:
    losses = RNG(0).exponential(1, 300)
    write_losses(tmp_path, {"mae": losses}, name="test")
    mean, written = read_losses(tmp_path / LOSSES_FILE, seconds=60)["mae"]
    assert mean == pytest.approx(losses.mean(), rel=1e-6)
    np.testing.assert_allclose(written.values, on(with_losses(losses), Resampling("test", 300)), rtol=1e-5)


def test_a_file_that_was_cut_or_changed_is_read_or_refused_in_words(tmp_path: Path) -> None:
    path, chance = tmp_path / LOSSES_FILE, RNG(0)
    write_losses(tmp_path, {"mae": RNG(0).exponential(1, 20)})
    whole, refused = path.read_bytes(), 0
    for _ in range(300):
        changed = bytearray(whole[: int(chance.integers(len(whole)))] if chance.random() < 0.3 else whole)
        for place in chance.integers(0, max(len(changed), 1), 3):
            changed[place : place + 1] = bytes([int(chance.integers(256))])
        path.write_bytes(bytes(changed))
        try:
            read_losses(path, seconds=60)
        except ScoringInputError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"mae": np.zeros((2, 300))}, "2 by 300 numbers; give a plain list of numbers"),
        ({"mae": np.array(["a"] * 300)}, "text"),
        ({"mae": np.zeros(3)}, "there are 3"),
        ({"mae": np.zeros(300), "podium.json": np.array("[]")}, "not a mapping"),
        ({"mae": np.array([None] * 300)}, "cannot be read"),
    ],
    ids=["a matrix", "text", "few", "another description", "objects"],
)
def test_a_file_that_holds_no_replicates_is_refused(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    path = tmp_path / REPLICATES_FILE
    np.savez(path, **arrays)
    with pytest.raises(ScoringInputError, match=words):
        read(path)


def test_trials_add_their_own_variance_to_that_of_the_items(tmp_path: Path) -> None:
    """Losses of five runs with other seeds, whose means lie apart: more than the items alone say."""
    rng = RNG(0)
    items, seeds = rng.normal(0, 1, 400), np.array([-0.4, -0.2, 0.0, 0.2, 0.4])
    write_losses(tmp_path, {"mae": items + seeds[:, None], "one": items, "again": np.tile(items, (5, 1))})
    by_key = read_losses(tmp_path / LOSSES_FILE, seconds=60)
    expected = np.sqrt(items.var() / 400 + seeds.var(ddof=1) / 5)
    assert by_key["mae"][1].values.std() == pytest.approx(expected, rel=0.1)
    assert by_key["mae"][0] == pytest.approx(by_key["one"][0])
    np.testing.assert_array_equal(by_key["one"][1].values, by_key["again"][1].values)

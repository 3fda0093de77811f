"""Scores of slices: against direct computation, in the scoring programs, and bad declarations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from scoring import program, reference, slices, synthetic
from scoring.errors import ScoringInputError
from scoring.formats import submissions
from scoring.metrics.metric import no_value
from scoring.replicates import SECONDS_VARIABLE, Deadline, Resampling
from scoring.slices import Slice, Slicing, read, scores_by_slice, write
from scoring.standings import wilson
from scoring.statistics import SampledScore
from scoring.tables import table_reference
from scoring.tables.table_reference import ChosenMetric

RNG = np.random.default_rng


def mean_score(losses: np.ndarray[Any, Any]) -> SampledScore:
    return SampledScore(float(losses.mean()), len(losses), losses, lambda places: float(losses[places].mean()))


def sliced(
    sampled: SampledScore, labels: np.ndarray[Any, Any], *, seconds: float = 3600, **codes: Any
) -> dict[str, Slice]:
    samples = {"mae": (sampled, Resampling("test", len(labels), **codes))}
    by_value = scores_by_slice(samples, {"mae": {"by": Slicing.of(labels)}}, Deadline(seconds))
    return {each.value: each for each in by_value["mae"]["by"]}


def ends(each: Slice) -> tuple[float, float]:
    assert each.low is not None
    assert each.high is not None
    return each.low, each.high


def test_a_slice_has_the_score_of_its_items_and_an_interval_of_their_error() -> None:
    labels = np.repeat(["a", "b", "few"], [400, 100, 19])
    losses = RNG(0).exponential(1.0, len(labels)) + (labels == "b")
    by_value = sliced(mean_score(losses), labels)
    assert {value: each.items for value, each in by_value.items()} == {"a": 400, "b": 100, "few": 19}
    for value, each in by_value.items():
        assert each.score == pytest.approx(losses[labels == value].mean())
    for value in ("a", "b"):
        low, high = ends(by_value[value])
        error = losses[labels == value].std() / np.sqrt(by_value[value].items)
        assert low < losses[labels == value].mean() < high
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.25)
    assert (by_value["few"].low, by_value["few"].high) == (None, None)


def test_shares_have_wilsons_interval_and_groups_are_drawn_whole() -> None:
    labels, right = np.repeat([1, 2], 50), np.ones(100)
    assert sliced(mean_score(right), labels)["1"] == Slice("1", 50, 1.0, *wilson(1.0, 50))
    losses = np.repeat(RNG(0).normal(0, 1, 100), 10)
    alone = sliced(mean_score(losses), np.repeat(0, 1000))["0"]
    together = sliced(mean_score(losses), np.repeat(0, 1000), groups=np.repeat(np.arange(100), 10))["0"]
    assert np.ptp(ends(together)) > 2 * np.ptp(ends(alone))
    assert sliced(mean_score(losses), np.repeat(0, 1000), groups=np.repeat(np.arange(10), 100))["0"].low is None


def test_a_metric_without_a_value_on_a_slice_gives_it_no_score() -> None:
    truth = np.array([0] * 40 + [0, 1] * 20)

    def score(places: Any) -> float:
        if len(set(truth[places])) < 2:
            raise no_value("one class", "add rows")
        return float(truth[places].mean())

    by_value = sliced(SampledScore(0.25, 80, None, score), np.repeat(["one", "two"], 40))
    assert by_value["one"] == Slice("one", 40)
    assert by_value["two"].score == 0.5
    low, high = ends(by_value["two"])
    assert low < 0.5 < high


def test_more_than_fifty_labels_are_the_commonest_and_one_for_all_others() -> None:
    labels = np.concatenate([np.repeat(np.arange(49), 3), np.arange(100, 120)])
    slicing = Slicing.of(labels)
    assert slicing.values == (*map(str, range(49)), "other (20 values)")
    assert len(slicing.places(49)) == 20
    assert Slicing.of(np.array(["two\nlines", "", "x" * 99])).values == ("(empty)", "two lines", "x" * 60)


def test_where_time_is_short_scores_come_before_intervals_and_none_without_time() -> None:
    losses, labels = RNG(0).normal(size=100), np.repeat(0, 100)
    samples = {"mae": (mean_score(losses), Resampling("test", 100))}
    assert scores_by_slice(samples, {"mae": {"by": Slicing.of(labels)}}, Deadline(-1)) == {}
    looks = iter([1.0, 0.0])  # once before the score, once before the interval

    class Ending(Deadline):
        @property
        def left(self) -> float:
            return next(looks)

    (each,) = scores_by_slice(samples, {"mae": {"by": Slicing.of(labels)}}, Ending(1))["mae"]["by"]
    assert each.score == pytest.approx(losses.mean())
    assert each.low is None


def test_a_file_holds_as_many_slicings_as_fit(tmp_path: Path) -> None:
    many = [Slice("x" * 60, 10**6, 0.123456789123, 0.1, 0.2)] * 50
    given = {f"key{number}": {f"by\n{number}" + "y" * 60: many} for number in range(60)}
    left_out = write(tmp_path, given)
    content = (tmp_path / "slices.json").read_bytes()
    written = read(content).scores
    assert slices.MAX_BYTES - 10_000 < len(content) <= slices.MAX_BYTES
    assert len(written) + len(left_out) == 60
    assert written["key0"]["by 0" + "y" * 56][0].score == 0.123456789


GOOD = {"value": "a", "items": 30, "score": 0.5, "low": 0.4, "high": 0.6}


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[" * 100_000,
        b'{"format": 2, "scores": {}}',
        b'{"format": 1, "scores": []}',
        b'{"format": 1, "scores": {"mae": []}}',
        b'{"format": 1, "scores": {"mae": {"by": {}}}}',
        b" " * (slices.MAX_BYTES + 1),
        *(
            json.dumps({"format": 1, "scores": {"mae": {"by": [{**GOOD, **wrong}]}}}).encode()
            for wrong in (
                {"value": 1},
                {"value": "two\nlines"},
                {"value": "x" * 61},
                {"items": True},
                {"items": -1},
                {"score": "0.5"},
                {"score": float("nan")},
                {"score": 10**400},
                {"high": float("inf")},
                {"low": None},
                {"low": 0.7},
                {"label": 1},
            )
        ),
        json.dumps({"format": 1, "scores": {"mae": {"by": [GOOD] * 51}}}).encode(),
        *(json.dumps({"format": 1, "scores": {}, "remarks": wrong}).encode() for wrong in ("No", [""], ["x"] * 21)),
        json.dumps({"format": 1, "scores": {"mae": {f"{by}": [GOOD] for by in range(11)}}}).encode(),
        json.dumps({"format": 1, "scores": {"mae": {"a\u202eb": [GOOD]}}}).encode(),
    ],
)
def test_a_file_of_another_kind_is_refused(content: bytes) -> None:
    with pytest.raises(ScoringInputError, match=r"slices\.json"):
        read(content)


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *, seconds: str = "3600", ends: int = 0) -> Any:
    """Run the scoring program; the slices that it writes beside its scores."""
    monkeypatch.setenv(SECONDS_VARIABLE, seconds)
    assert program.main([str(folder / "input"), str(folder / "output")]) == ends
    path = folder / "output" / "slices.json"
    return read(path.read_bytes()).scores if path.exists() else None


def table(folder: Path, *chosen: ChosenMetric, own: bytes | None = None, **more: Any) -> pl.DataFrame:
    """A reference with three columns to slice by, without parts where a metric is `own`, and a table."""
    rng = RNG(0)
    solution = pl.DataFrame(
        {
            "id": range(120),
            "price": rng.normal(size=120),
            "Usage": ["Public", "Private"] * 60,
            "g": [row % 12 for row in range(120)],
            "town": [("Ulm", "Bonn", None)[row % 3] for row in range(120)],
            "atoms": [(9, 10)[row // 60] for row in range(120)],
        }
    )
    given = {"id_column": "id", "targets": ["price"], "usage_column": None if own else "Usage"}
    known = table_reference.reference_for(solution, list(chosen), group="g", **given)  # type: ignore[arg-type]
    known = table_reference.TableReference(**{**vars(known), **more})
    table_reference.write(folder / "input" / "ref", solution, known, metric_file=own)
    (folder / "input" / "res").mkdir()
    sent = solution.select("id", price=pl.col("price") + pl.Series(rng.normal(size=120)))
    sent.write_csv(folder / "input" / "res" / "p.csv")
    return solution.with_columns(error=(sent["price"] - solution["price"]).abs())


OWN = """
def score(solution, submission, row_id_column_name):
    return float((solution["price"] - submission["price"]).abs().mean())
"""


def test_a_table_names_columns_whose_values_are_scored_in_each_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = table(tmp_path, ChosenMetric("mae"), ChosenMetric("mae", "grouped", {}, True), slices=("town", "atoms"))
    by_value = run(tmp_path, monkeypatch)
    assert set(by_value) == {f"{key}_{part}" for key in ("mae", "grouped") for part in ("public", "private")}
    assert [each.value for each in by_value["mae_public"]["atoms"]] == ["9", "10"]
    assert [each.value for each in by_value["mae_public"]["town"]] == ["(empty)", "Bonn", "Ulm"]
    for part in ("Public", "Private"):
        for each in by_value[f"mae_{part.lower()}"]["atoms"]:
            chosen = rows.filter(pl.col("Usage") == part, pl.col("atoms") == int(each.value))
            assert (each.items, each.score) == (30, pytest.approx(chosen["error"].mean()))
            assert each.low < each.score < each.high
    # Each group of rows is of one town. Half of its rows have nine atoms: then there is nothing that it belongs to.
    assert set(by_value["grouped_public"]) == {"town"}
    for each in by_value["grouped_public"]["town"]:
        town = None if each.value == "(empty)" else each.value
        chosen = rows.filter(pl.col("Usage") == "Public", pl.col("town").eq_missing(town))
        assert each.items == chosen["g"].n_unique()
        assert each.score == pytest.approx(chosen.group_by("g").agg(pl.col("error").mean())["error"].mean())
    reference, _ = table_reference.read(tmp_path / "input" / "ref")
    assert reference.slices == ("town", "atoms")
    assert read((tmp_path / "output" / "slices.json").read_bytes()).remarks == tuple(
        f"No slices of grouped_{part} by atoms: 6 of 6 groups have items in several slices; "
        "the metric is over groups, so give all items of a group one value."
        for part in ("public", "private")
    )


def test_a_metric_of_ones_own_is_scored_on_each_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(tmp_path, ChosenMetric("metric.py", key="own"), own=OWN.encode(), slices=("atoms",))
    scored = run(tmp_path, monkeypatch)["own"]["atoms"]
    assert [each.value for each in scored] == ["9", "10"]
    for each in scored:
        chosen = rows.filter(pl.col("atoms") == int(each.value))
        assert (each.items, each.score) == (60, pytest.approx(chosen["error"].mean()))
        assert each.low < each.score < each.high


def test_there_are_no_slices_where_none_are_declared_or_no_time_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(tmp_path / "plain", ChosenMetric("mae"))
    assert run(tmp_path / "plain", monkeypatch) is None
    assert "slices" not in json.loads((tmp_path / "plain" / "input" / "ref" / "metric.json").read_text())
    table(tmp_path / "quick", ChosenMetric("mae"), slices=("town",))
    assert run(tmp_path / "quick", monkeypatch, seconds="0") is None


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (["nowhere"], "column 'nowhere': there is no such column, and slices names it"),
        (["town", "town"], "names a column twice"),
        ([f"c{number}" for number in range(11)], "more than 10"),
        ("town", "is not a list of columns"),
        ([1], "is not a list of columns"),
    ],
)
def test_a_table_that_names_wrong_columns_is_refused_to_its_organizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], declared: object, words: str
) -> None:
    table(tmp_path, ChosenMetric("mae"))
    path = tmp_path / "input" / "ref" / "metric.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"slices": declared}))
    assert run(tmp_path, monkeypatch, ends=1) is None
    error = capsys.readouterr().err
    assert "the reference data cannot be used" in error
    assert words in error


def pcqm(folder: Path, **lists: Any) -> Any:
    """A reference of 500 molecules with lists to slice by; the absolute errors of what was sent in."""
    labels, predictions = synthetic.make("lsc-pcqm4mv2", "test-dev", rows=500)
    given = {"test-dev": {name: np.asarray(values) for name, values in lists.items()}}
    reference.write(folder / "input" / "ref", "lsc-pcqm4mv2", {"test-dev": labels}, slices=given)
    (folder / "input" / "res").mkdir()
    submissions.write(folder / "input" / "res", "lsc-pcqm4mv2", "test-dev", predictions, rows=500)
    return np.abs(np.asarray(labels["y_true"]) - np.asarray(predictions["y_pred"], dtype=np.float32))


def test_a_reference_of_arrays_brings_lists_of_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atoms = np.arange(500) % 4 + 8
    errors = pcqm(tmp_path, atoms=atoms, ring=np.where(atoms > 9, "yes", "no"))
    by_value = run(tmp_path, monkeypatch)["mae"]
    assert [each.value for each in by_value["atoms"]] == ["8", "9", "10", "11"]
    for each in by_value["atoms"]:
        assert each.score == pytest.approx(errors[atoms == int(each.value)].mean(), rel=1e-5)
        assert each.low < each.score < each.high
    assert [(each.value, each.items) for each in by_value["ring"]] == [("no", 250), ("yes", 250)]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.arange(499), "it has 499 labels; give one for each of 500 items"),
        (np.zeros((500, 2), dtype=int), "they are an array of 500 by 2 numbers; give one for each item"),
        (np.zeros(500), "they are float64; give texts or integers"),
    ],
)
def test_lists_that_do_not_fit_are_refused_to_the_organizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], labels: Any, words: str
) -> None:
    pcqm(tmp_path, atoms=labels)
    assert run(tmp_path, monkeypatch, ends=1) is None
    assert re.search(f"test-dev-slices.npz, atoms: {re.escape(words)}", capsys.readouterr().err)


def test_missing_or_too_many_lists_are_refused(tmp_path: Path) -> None:
    pcqm(tmp_path, **{f"by{number}": np.zeros(500, dtype=int) for number in range(11)})
    known = reference.read(tmp_path / "input" / "ref")
    with pytest.raises(ScoringInputError, match="it holds 11 arrays; give 10 at most"):
        known.slicings("test-dev")
    (tmp_path / "input" / "ref" / "test-dev-slices.npz").unlink()
    with pytest.raises(ScoringInputError, match="it cannot be read"):
        known.slicings("test-dev")

"""The scoring programs, run as their containers run them: by the command in metadata.yaml."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import scoring
from scoring import reference, synthetic
from scoring.formats import seed_results, submissions
from scoring.program import main

PROGRAMS = Path(scoring.__file__).parent / "programs"
TRACKS = ["lsc-mag240m", "lsc-wikikg90mv2", "lsc-wikikg90m", "lsc-pcqm4mv2", "lsc-pcqm4m", "obl2021"]
GAPS = "lsc-pcqm4mv2"


class Container:
    """The folders of one scoring container."""

    def __init__(self, root: Path) -> None:
        self.ref, self.res, self.output = root / "input" / "ref", root / "input" / "res", root / "output"
        for folder in (self.ref, self.res, self.output):
            folder.mkdir(parents=True)

    def run(self, program: str) -> subprocess.CompletedProcess[str]:
        """The command of the program's metadata.yaml, with the worker's placeholders."""
        folder = PROGRAMS / program
        command = yaml.safe_load((folder / "metadata.yaml").read_text())["command"]
        places = {"$program": folder, "$input": self.ref.parent, "$output": self.output}
        for placeholder, path in places.items():
            command = command.replace(placeholder, str(path))
        argv = [sys.executable if word == "python3" else word for word in shlex.split(command)]
        paths = {"PYTHONPATH": str(PROGRAMS.parents[1])}
        return subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, **paths})

    def score(self) -> int:
        """As `run`, in this process."""
        return main([str(self.ref.parent), str(self.output)])

    def scores(self) -> Any:
        return json.loads((self.output / "scores.json").read_text())

    def refusal(self) -> Any:
        assert not (self.output / "scores.json").exists()
        return json.loads((self.output / "refusal.json").read_text())


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def fill(container: Container, dataset: str, splits: list[str], rows: int = 60) -> dict[str, float]:
    """Reference and upload of every split; the scores that must come out, by split and metric."""
    labels, expected = {}, {}
    for seed, split in enumerate(splits):
        truth, predictions = synthetic.make(dataset, split, rows=rows + seed, seed=seed)
        labels[split] = truth
        submissions.write(container.res, dataset, split, predictions, rows=rows + seed)
        for key, score in scoring.evaluate(dataset, truth | predictions).items():
            expected[key if len(splits) == 1 else f"{key}_{split}"] = score
    reference.write(container.ref, dataset, labels)
    return expected


@pytest.mark.parametrize("dataset", TRACKS)
def test_every_track_scores_its_official_files_in_one_pass(dataset: str, container: Container) -> None:
    expected = fill(container, dataset, list(submissions.splits(dataset)))
    done = container.run(dataset)
    assert done.returncode == 0, done.stderr
    assert container.scores() == expected


def test_one_split_alone_scores_under_the_metrics_own_name(container: Container) -> None:
    expected = fill(container, GAPS, ["test-dev"])
    assert container.score() == 0
    assert container.scores() == expected
    assert list(expected) == ["mae"]


def test_ogb_predictions_are_scored_against_hidden_labels(container: Container) -> None:
    expected = fill(container, "ogbn-arxiv", ["test"])
    assert container.run("ogb-predictions").returncode == 0
    assert container.scores() == expected


def test_metrics_of_ones_own_are_scored(container: Container) -> None:
    reference.write_metrics(container.ref, ["accuracy", "balanced_accuracy"], {"test": [0, 0, 0, 1]})
    np.savez_compressed(container.res / "y_pred_test.npz", y_pred=np.array([0, 0, 1, 1]))
    assert container.run("metrics").returncode == 0
    assert container.scores() == {"accuracy": 0.75, "balanced_accuracy": pytest.approx(5 / 6)}


def test_results_of_ten_seeds_become_mean_and_deviation(container: Container) -> None:
    reference.write_results(container.ref, "ogbn-arxiv")
    test = [0.70 + seed / 100 for seed in range(10)]
    seed_results.write(container.res, "ogbn-arxiv", valid=test, test=test, seeds=range(10))
    assert container.run("ogb-results").returncode == 0
    assert container.scores()["acc"] == pytest.approx(np.mean(test))
    assert container.scores()["acc_std"] == pytest.approx(np.std(test, ddof=1))


def test_an_invalid_file_is_refused_with_exit_code_65_and_a_reason(container: Container) -> None:
    fill(container, GAPS, ["test-dev"])
    (container.res / "y_pred_pcqm4m-v2_test-dev.npz").write_bytes(b"PK\x03\x04")
    done = container.run(GAPS)
    assert done.returncode == 65
    assert done.stdout == f"refused: truncated: {scoring.CODES['truncated']}\n"
    assert container.refusal()["code"] == "truncated"


@pytest.mark.parametrize("files", [[], ["a.txt", "b.txt"]])
def test_a_missing_file_is_refused_with_the_name_it_must_have(files: list[str], container: Container) -> None:
    fill(container, GAPS, ["test-dev"])
    (container.res / "y_pred_pcqm4m-v2_test-dev.npz").unlink()
    for name in files:
        (container.res / name).write_text("x")
    assert container.score() == 65
    assert container.refusal()["code"] == ("wrong_file_name" if files else "no_file")
    assert "y_pred_pcqm4m-v2_test-dev.npz" in container.refusal()["message"]


def test_the_file_of_the_other_split_is_recognised(container: Container) -> None:
    fill(container, GAPS, ["test-dev"])
    file = container.res / "y_pred_pcqm4m-v2_test-dev.npz"
    file.rename(container.res / "y_pred_pcqm4m-v2_test-challenge.npz")
    assert container.score() == 65
    assert container.refusal()["code"] == "wrong_split"


def test_one_of_two_files_missing_is_a_refusal_and_nothing_is_scored(container: Container) -> None:
    fill(container, GAPS, ["test-dev", "test-challenge"])
    (container.res / "y_pred_pcqm4m-v2_test-challenge.npz").unlink()
    assert container.score() == 65
    assert container.refusal()["code"] in ("wrong_file_name", "wrong_split")


def test_what_archivers_add_is_passed_over(container: Container) -> None:
    expected = fill(container, GAPS, ["test-dev"])
    extras = container.res / "__MACOSX" / "._y_pred_pcqm4m-v2_test-dev.npz"
    extras.parent.mkdir()
    extras.write_text("x")
    (container.res / ".DS_Store").write_text("x")
    assert container.score() == 0
    assert container.scores() == expected


def test_a_link_in_place_of_the_file_is_not_followed(container: Container) -> None:
    fill(container, GAPS, ["test-dev"])
    file = container.res / "y_pred_pcqm4m-v2_test-dev.npz"
    file.rename(container.ref / "elsewhere.npz")
    file.symlink_to(container.ref / "elsewhere.npz")
    assert container.score() == 65
    assert container.refusal()["code"] == "no_file"


def no_description(container: Container) -> None:
    (container.ref / "reference.json").unlink()


def no_labels(container: Container) -> None:
    (container.ref / "test-dev.npz").unlink()


def short_labels(container: Container) -> None:
    np.savez(container.ref / "test-dev.npz", y_true=np.zeros(5))


def unknown_dataset(container: Container) -> None:
    (container.ref / "reference.json").write_text('{"format": 1, "dataset": "x", "splits": {}}')


def no_splits(container: Container) -> None:
    (container.ref / "reference.json").write_text('{"format": 1, "dataset": "lsc-pcqm4mv2", "splits": {}}')


def another_format(container: Container) -> None:
    (container.ref / "reference.json").write_text('{"format": 2, "dataset": "lsc-pcqm4mv2"}')


def nan_labels(container: Container) -> None:
    np.savez(container.ref / "test-dev.npz", y_true=np.full(60, np.nan))


@pytest.mark.parametrize(
    "fault", [no_description, no_labels, short_labels, unknown_dataset, no_splits, another_format, nan_labels]
)
def test_faults_of_the_reference_are_never_the_participants(fault: Any, container: Container) -> None:
    fill(container, GAPS, ["test-dev"])
    fault(container)
    assert container.score() == 1
    assert list(container.output.iterdir()) == []


def test_a_folder_without_a_description_is_said_to_be_one(
    container: Container, capsys: pytest.CaptureFixture[str]
) -> None:
    assert container.score() == 1
    assert "it holds neither reference.json nor metric.json" in capsys.readouterr().err


def test_metrics_of_arrays_refuse_predictions_in_fixed_words(container: Container) -> None:
    reference.write_metrics(container.ref, ["log_loss"], {"test": [0, 1]})
    np.savez_compressed(container.res / "y_pred_test.npz", y_pred=np.array([0.5, 1.5]))
    assert container.score() == 65
    assert container.refusal()["message"] == f"The predictions cannot be scored: {scoring.CODES['out_of_range']}."


def test_labels_that_no_metric_can_take_are_never_the_participants(container: Container) -> None:
    reference.write_metrics(container.ref, ["roc_auc"], {"test": [0, 2]})
    np.savez_compressed(container.res / "y_pred_test.npz", y_pred=np.array([0.5, 1.5]))
    assert container.score() == 1
    assert list(container.output.iterdir()) == []


def test_a_refusal_reads_the_same_whatever_the_labels_are(tmp_path: Path) -> None:
    messages = []
    for number, labels in enumerate(([1.0, 2.0], [-7e7, 3.5])):
        container = Container(tmp_path / str(number))
        reference.write(container.ref, GAPS, {"test-dev": {"y_true": labels}})
        np.savez(container.res / "y_pred_pcqm4m-v2_test-dev.npz", y_pred=np.array([np.nan, 1], np.float32))
        assert container.score() == 65
        messages.append(container.refusal())
    assert messages[0] == messages[1]


def test_predictions_that_only_the_labels_make_unscorable_are_refused_with_a_fixed_sentence(
    container: Container,
) -> None:
    reference.write(container.ref, "ogbg-molesol", {"test": {"y_true": np.zeros((2, 1), np.float32)}})
    submissions.write(container.res, "ogbg-molesol", "test", {"y_pred": [[3e38], [3e38]]}, rows=2)
    assert container.score() == 65
    assert container.refusal()["message"] == f"The predictions cannot be scored: {scoring.CODES['infinite']}."


@pytest.mark.parametrize("per_sample", [False, True])
def test_scores_of_single_samples_are_written_only_when_the_organizer_asks(
    per_sample: bool, container: Container
) -> None:
    truth, predictions = synthetic.make(GAPS, "test-dev", rows=30)
    reference.write(container.ref, GAPS, {"test-dev": truth}, per_sample=per_sample)
    submissions.write(container.res, GAPS, "test-dev", predictions, rows=30)
    assert container.score() == 0
    path = container.output / "per_sample_test-dev.npz"
    assert path.exists() == per_sample
    if per_sample:
        with np.load(path) as stored:
            assert stored["mae"].dtype == np.float32
            assert float(stored["mae"].mean()) == pytest.approx(container.scores()["mae"], rel=1e-6)


def test_a_wrong_call_says_how_to_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert "usage" in capsys.readouterr().err


def test_every_program_has_a_command_that_names_its_own_script() -> None:
    folders = sorted(path for path in PROGRAMS.iterdir() if (path / "metadata.yaml").exists())
    assert {folder.name for folder in folders} == {*TRACKS, "ogb-predictions", "ogb-results", "metrics", "table"}
    for folder in folders:
        command = yaml.safe_load((folder / "metadata.yaml").read_text())["command"].split()
        assert (folder / command[1].removeprefix("$program/")).is_file()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"dataset": "ogbn-mag"}, "bad_json"),
        ({"metric": "rocauc"}, "bad_json"),
        ({"seeds": []}, "bad_json"),
        ({"seeds": "ten"}, "bad_json"),
        ({"seeds": [{"seed": 0, "valid": 0.5, "test": 0.5}] * 10}, "bad_json"),
        ({"seeds": [{"seed": seed, "valid": 0.5} for seed in range(10)]}, "bad_json"),
        ({"seeds": [{"seed": seed, "valid": 0.5, "test": 71.7} for seed in range(10)]}, "out_of_range"),
        ({"seeds": [{"seed": seed, "valid": 0.5, "test": float("nan")} for seed in range(10)]}, "nan"),
        ({"seeds": [{"seed": seed, "valid": float("inf"), "test": 0.5} for seed in range(10)]}, "infinite"),
    ],
)
def test_wrong_results_of_seeds_are_refused(change: dict[str, Any], code: str, tmp_path: Path) -> None:
    seeds = [{"seed": seed, "valid": 0.7, "test": 0.7} for seed in range(10)]
    path = tmp_path / "results_ogbn-arxiv.json"
    path.write_text(json.dumps({"dataset": "ogbn-arxiv", "metric": "acc", "seeds": seeds} | change))
    with pytest.raises(scoring.ScoringInputError) as caught:
        seed_results.read(path, "ogbn-arxiv")
    assert caught.value.code == code


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e308, 1e200], ids=["401 digits", "below 0", "sum", "squares"])
def test_results_of_seeds_that_overflow_are_refused(value: float, tmp_path: Path) -> None:
    seeds = [{"seed": seed, "valid": 0.7, "test": 0.7 if seed % 2 else value} for seed in range(10)]
    path = tmp_path / "results_ogbg-molesol.json"
    path.write_text(json.dumps({"dataset": "ogbg-molesol", "metric": "rmse", "seeds": seeds}))
    with pytest.raises(scoring.ScoringInputError) as refused:
        seed_results.read(path, "ogbg-molesol")
    assert refused.value.code == "infinite"


@pytest.mark.parametrize(("content", "code"), [(b"", "empty_file"), (b"{", "bad_json"), (b" " * 70_000, "too_large")])
def test_files_that_hold_no_results_are_refused(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "results_ogbn-arxiv.json"
    path.write_bytes(content)
    with pytest.raises(scoring.ScoringInputError) as caught:
        seed_results.read(path, "ogbn-arxiv")
    assert caught.value.code == code

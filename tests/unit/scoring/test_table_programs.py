"""The scoring program of table competitions: parts, keys, refusals, and an organizer's own metric."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from scoring.errors import ScoringInputError
from scoring.metrics import metric
from scoring.metrics.metric import Rows, mean_over_groups
from scoring.program import REFUSED, main
from scoring.tables.own_metric import OwnMetric
from scoring.tables.reading.files import read_table
from scoring.tables.table_reference import ChosenMetric, reference_for, write

SOLUTION = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d", "e"],
        "price": [1.0, 2.0, 3.0, 4.0, 1e9],
        "weight": [1.0, 1.0, 1.0, 3.0, 1.0],
        "Usage": ["Public", "Private", "Public", "Private", "Ignored"],
    }
)
PREDICTIONS = "id,price\ne,0\nd,4\nc,3\nb,4\na,2\n"
OWN = """
import pandas as pd
import kaggle_metric_utilities

class ParticipantVisibleError(Exception):
    pass

def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str, power: float = 1.0) -> float:
    del solution[row_id_column_name]
    del submission[row_id_column_name]
    BODY
    return float((abs(solution["price"] - submission["price"]) ** power).mean())
"""


@dataclass
class Folders:
    """The folders of the scoring container."""

    root: Path

    def reference(self, *names: str, body: str = "", **settings: Any) -> None:
        chosen = [ChosenMetric(name, parameters=settings.pop("parameters", {})) for name in names]
        known = reference_for(SOLUTION, chosen, id_column="id", targets=["price"], usage_column="Usage", **settings)
        own = OWN.replace("BODY", body or "pass").encode() if "metric.py" in names else None
        write(self.root / "input" / "ref", SOLUTION, known, metric_file=own)

    def upload(self, text: str = PREDICTIONS, name: str = "predictions.csv") -> None:
        (self.root / "input" / "res").mkdir(parents=True)
        (self.root / "input" / "res" / name).write_text(text)

    def score(self) -> int:
        return main([str(self.root / "input"), str(self.root / "output")])

    def written(self, name: str = "scores.json") -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.root / "output" / name).read_text())
        return content


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_each_part_has_its_own_score_and_ignored_rows_have_none(folders: Folders) -> None:
    folders.reference("mae", "rmse")
    folders.upload()
    assert folders.score() == 0
    expected = {"mae_public": 0.5, "rmse_public": 0.5**0.5, "mae_private": 1.0, "rmse_private": 2**0.5}
    assert folders.written() == pytest.approx(expected)


def test_weights_and_losses_of_single_rows(folders: Folders) -> None:
    folders.reference("mae", "rmse", weight="weight", per_sample=True)
    folders.upload()
    assert folders.score() == 0
    assert folders.written()["mae_private"] == 0.5
    with np.load(folders.root / "output" / "per_sample_private.npz") as losses:
        assert {name: losses[name].tolist() for name in losses} == {"mae": [2.0, 0.0], "rmse_loss": [4.0, 0.0]}


EQUAL = """
def score(solution, submission, row_id_column_name: str) -> float:
    return float((solution["alive"] == submission["alive"]).mean())
"""
ROWS = {"id": ["a", "b", "c", "d"], "alive": [True, False, True, True]}
WRITTEN = {
    "p.csv": "id,alive\nd,True\nc,True\nb,False\na,True\n",
    "lower.csv": "id,alive\nd,true\nc,TRUE\nb,false\na,true\n",
    "p.jsonl": "".join(f'{{"id": "{name}", "alive": {str(name != "b").lower()}}}\n' for name in "abcd"),
    "p.parquet": "",
}


@pytest.mark.parametrize("upload", WRITTEN)
@pytest.mark.parametrize("solution", ["p.csv", "p.parquet"])
@pytest.mark.parametrize("metric", ["metric.py", "accuracy", "macro_f1"])
def test_true_and_false_are_the_same_however_they_are_written(
    folders: Folders, metric: str, solution: str, upload: str
) -> None:
    def stored(folder: str, source: str, name: str) -> Path:
        path = folders.root / "input" / folder / f"{name}{Path(source).suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if source == "p.parquet":
            pl.DataFrame(ROWS).write_parquet(path)
        else:
            path.write_text(WRITTEN[source])
        return path

    truth = read_table(stored("", solution, "solution"))
    known = reference_for(truth, [ChosenMetric(metric, "score")], id_column="id", targets=["alive"])
    write(folders.root / "input" / "ref", truth, known, metric_file=EQUAL.encode() if metric == "metric.py" else None)
    stored("res", upload, "predictions")
    assert folders.score() == 0
    assert folders.written() == {"score": 1.0}


def test_texts_beside_true_and_false_stay_texts(folders: Folders) -> None:
    own = OwnMetric(written_metric(folders.root, EQUAL))
    truth = pl.DataFrame({"id": [1, 2], "alive": ["True", "maybe"]})
    assert own.score(truth, pl.DataFrame({"id": [1, 2], "alive": ["True", "False"]}), "id") == 0.5


def written_metric(folder: Path, text: str) -> Path:
    path = folder / "metric.py"
    path.write_text(text)
    return path


def test_columns_of_true_and_false_may_be_numbers_of_the_solution(folders: Folders) -> None:
    solution = pl.DataFrame({"id": [1, 2], "price": [1.0, 2.0], "weight": ["True", "False"]})
    known = reference_for(solution, [ChosenMetric("mae")], id_column="id", targets=["price"], weight="weight")
    write(folders.root / "input" / "ref", solution, known)
    folders.upload("id,price\n1,3\n2,9\n")
    assert folders.score() == 0
    assert folders.written() == {"mae": 2.0}


def test_a_zip_of_one_table_is_scored(folders: Folders) -> None:
    folders.reference("mae")
    folders.upload("", "x")
    (folders.root / "input" / "res" / "x").unlink()
    with zipfile.ZipFile(folders.root / "input" / "res" / "p.zip", "w") as archive:
        archive.writestr("p.csv", PREDICTIONS)
    assert folders.score() == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("id,price\na,1\n", "missing_ids"),
        (PREDICTIONS.replace("d,4", "d,nan"), "nan"),
        ("id,cost\na,1\n", "missing_column"),
    ],
)
def test_a_wrong_table_is_refused_without_a_word_of_the_labels(folders: Folders, text: str, code: str) -> None:
    folders.reference("mae")
    folders.upload(text)
    assert folders.score() == REFUSED
    refusal = folders.written("refusal.json")
    assert refusal["code"] == code
    assert not {"Public", "Private", "1000000000"} & set(refusal["message"].replace(",", " ").split())


def test_a_refusal_by_the_metric_has_no_detail(folders: Folders) -> None:
    folders.reference("rmsle")
    folders.upload(PREDICTIONS.replace("d,4", "d,-2"))
    assert folders.score() == REFUSED
    assert (
        folders.written("refusal.json")["message"]
        == "The predictions cannot be scored: a value lies outside the allowed range."
    )


@pytest.mark.parametrize(
    "name", ["rmse", "mse", "r_squared", "explained_variance", "concordance_correlation", "mcrmse"]
)
def test_predictions_that_overflow_a_metric_are_the_teams_fault(folders: Folders, name: str) -> None:
    folders.reference(name)
    folders.upload(PREDICTIONS.replace("d,4", "d,1e200").replace("c,3", "c,-1e200"))
    assert folders.score() == REFUSED
    refusal = folders.written("refusal.json")
    assert refusal["code"] == "infinite"
    assert "values so large that the score is infinite" in refusal["message"]


def test_a_truth_that_overflows_a_metric_is_the_organizers_fault(folders: Folders) -> None:
    solution = SOLUTION.with_columns(price=pl.col("price") * 1e200)
    known = reference_for(solution, [ChosenMetric("rmse")], id_column="id", targets=["price"])
    write(folders.root / "input" / "ref", solution, known)
    folders.upload(PREDICTIONS.replace("d,4", "d,1e200"))
    assert folders.score() == 1


def test_scores_of_groups_whose_sum_overflows_are_the_teams_fault() -> None:
    rows = Rows(np.zeros(2), np.full(2, 1.5e308), group=np.array([0, 1]))
    with pytest.raises(ScoringInputError) as refused:
        mean_over_groups(metric("mae"), rows)
    assert (refused.value.code, refused.value.where) == ("infinite", "prediction")


@pytest.mark.parametrize("break_it", ["solution.parquet", "metric.json"])
def test_a_damaged_reference_is_the_organizers_fault(
    folders: Folders, break_it: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folders.reference("mae")
    folders.upload()
    (folders.root / "input" / "ref" / break_it).write_bytes(b"PAR1 damaged")
    assert folders.score() == 1
    assert "the reference data cannot be used" in capsys.readouterr().err


def test_classes_that_a_part_lacks_keep_their_place(folders: Folders) -> None:
    solution = pl.DataFrame(
        {"id": range(4), "kind": ["a", "c", "b", "b"], "Usage": ["Public", "Public", "Private", "Private"]}
    )
    known = reference_for(
        solution, [ChosenMetric("class_log_loss")], id_column="id", targets=["kind"], usage_column="Usage"
    )
    write(folders.root / "input" / "ref", solution, known)
    folders.upload("id,a,b,c\n0,1,0,0\n1,0,0,1\n2,0,1,0\n3,0,1,0\n")
    assert folders.score() == 0
    assert folders.written() == pytest.approx({"class_log_loss_public": 0.0, "class_log_loss_private": 0.0})


def test_metrics_of_other_predictions_do_not_go_together() -> None:
    solution = pl.DataFrame({"id": range(4), "kind": ["a", "c", "b", "b"]})
    with pytest.raises(ScoringInputError, match="accuracy: it needs other predictions than class_log_loss"):
        reference_for(
            solution, [ChosenMetric("class_log_loss"), ChosenMetric("accuracy")], id_column="id", targets=["kind"]
        )


def test_an_own_metric_runs_unchanged_with_its_parameters(folders: Folders) -> None:
    folders.reference("metric.py", parameters={"power": 2.0})
    folders.upload()
    assert folders.score() == 0
    assert folders.written() == {"score_public": 0.5, "score_private": 2.0}


def test_a_visible_error_of_the_metric_is_the_teams(folders: Folders) -> None:
    folders.reference("metric.py", body='raise ParticipantVisibleError("Prices must be\\n below a billion.")')
    folders.upload()
    assert folders.score() == REFUSED
    assert folders.written("refusal.json") == {"code": "metric_refused", "message": "Prices must be below a billion."}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('raise ValueError("4.0 is the label")', "it raised ValueError: 4.0 is the label"),
        ('return float("nan")', "it returned nan"),
        ('return "high"', "it returned a str"),
        ("raise SystemExit(65)", "it raised SystemExit"),
        ("import geopy", "it raised ModuleNotFoundError: No module named 'geopy'"),
    ],
)
def test_every_other_fault_of_the_metric_is_the_organizers(
    folders: Folders, body: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folders.reference("metric.py", body=body)
    folders.upload()
    assert folders.score() == 1
    assert message in capsys.readouterr().err
    assert not (folders.root / "output").exists()


def test_the_metric_sees_copies_without_the_column_of_parts(folders: Folders) -> None:
    folders.reference("metric.py", body='assert "Usage" not in solution and list(solution) == ["price", "weight"]')
    folders.upload()
    assert folders.score() == 0


def test_helpers_of_published_metrics_keep_labels_from_the_team(folders: Folders) -> None:
    body = "return kaggle_metric_utilities.safe_call_score(lambda t, p: 1 / 0, solution, submission)"
    folders.reference("metric.py", body=body)
    folders.upload()
    assert folders.score() == REFUSED
    assert folders.written("refusal.json")["message"] == "division by zero"


@pytest.mark.parametrize("values", [[[0.5, 0.6]], [[1.5, -0.5]], [["a", "b"]]])
def test_probabilities_are_verified(values: list[list[Any]]) -> None:
    import pandas as pd

    from scoring.tables.kaggle_metric_utilities import ParticipantVisibleError, verify_valid_probabilities

    verify_valid_probabilities(pd.DataFrame([[0.25, 0.75]]), "submission")
    with pytest.raises(ParticipantVisibleError, match="submission"):
        verify_valid_probabilities(pd.DataFrame(values), "submission")

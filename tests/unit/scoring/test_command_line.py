"""``python -m scoring``: exit codes, both kinds of output, and how little it loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scoring import reference, synthetic
from scoring.cli import main
from scoring.formats import submissions

NAME = "y_pred_pcqm4m-v2_test-dev.npz"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def upload(tmp_path: Path) -> Path:
    return submissions.write(tmp_path, "lsc-pcqm4mv2", "test-dev", {"y_pred": [5.0, 4.0]}, rows=2)


def test_check_accepts_a_right_file_and_finds_the_split_in_its_name(
    upload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "check", "lsc-pcqm4mv2", upload, "--rows", 2)
    assert (code, out) == (0, f"{NAME} is valid for lsc-pcqm4mv2 test-dev: y_pred (2,) float32\n")


def test_check_refuses_a_wrong_file_with_code_two_and_the_reason(
    upload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "check", "lsc-pcqm4mv2", upload)
    assert (code, out) == (2, "")
    assert err.startswith("wrong_shape: ")


def test_check_answers_in_json_when_asked(upload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "check", "lsc-pcqm4mv2", upload, "--json")
    assert (code, err) == (2, "")
    assert json.loads(out)["error"]["code"] == "wrong_shape"
    code, out, _ = run(capsys, "check", "lsc-pcqm4mv2", upload, "--rows", 2, "--json")
    assert json.loads(out)["arrays"] == {"y_pred": {"shape": [2], "dtype": "float32"}}


def test_check_asks_for_the_split_when_the_name_does_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "check", "lsc-pcqm4mv2", tmp_path / "mine.npz")
    assert code == 2
    assert NAME in err


def test_check_shows_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = submissions.write(tmp_path, "lsc-pcqm4mv2", "test-dev", {"y_pred": [5.0, 5.0]}, rows=2)
    assert "warning: y_pred: all rows are equal." in run(capsys, "check", "lsc-pcqm4mv2", path, "--rows", 2)[1]


def test_evaluate_scores_labels_and_an_official_file(
    upload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "truth.npz", y_true=np.array([5.5, 4.0]))
    code, out, _ = run(capsys, "evaluate", "lsc-pcqm4mv2", tmp_path / "truth.npz", upload, "--rows", 2, "--json")
    assert (code, json.loads(out)) == (0, {"mae": 0.25})
    assert "lower is better" in run(capsys, "evaluate", "lsc-pcqm4mv2", tmp_path / "truth.npz", upload, "--rows", 2)[1]


def test_evaluate_checks_an_official_file_first(
    upload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "truth.npz", y_true=np.array([5.5, 4.0]))
    code, _, err = run(capsys, "evaluate", "lsc-pcqm4mv2", tmp_path / "truth.npz", upload)
    assert code == 2
    assert err.startswith("wrong_shape: ")


def test_evaluate_takes_single_arrays_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "y_true.npy", np.array([1, 2]))
    np.save(tmp_path / "y_pred.npy", np.array([1, 3]))
    code, out, _ = run(capsys, "evaluate", "accuracy", tmp_path / "y_true.npy", tmp_path / "y_pred.npy", "--json")
    assert (code, json.loads(out)) == (0, {"accuracy": 0.5})
    words = tmp_path / "words.json"
    words.write_text(json.dumps({"seq_ref": [["get", "name"]], "seq_pred": [["get"]]}))
    assert json.loads(run(capsys, "evaluate", "ogbg-code2", words, "--json")[1])["recall"] == 0.5


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.npz", b"not a zip", "bad_header"),
        ("a.npy", b"\x93NUMPY\x01\x00", "bad_header"),
        ("a.json", b"{", "bad_json"),
        ("a.json", b"[1]", "bad_json"),
        ("missing.npz", None, "no_file"),
    ],
)
def test_evaluate_refuses_files_that_hold_no_arrays(
    name: str, content: bytes | None, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    exit_code, _, err = run(capsys, "evaluate", "accuracy", tmp_path / name)
    assert (exit_code, err.partition(":")[0]) == (2, code)


def test_evaluate_never_unpickles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "y_true.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert run(capsys, "evaluate", "accuracy", tmp_path / "y_true.npy")[0] == 2


def test_an_array_given_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "y_true.npy", np.array([1]))
    code, _, err = run(capsys, "evaluate", "accuracy", tmp_path / "a/y_true.npy", tmp_path / "b/y_true.npy")
    assert (code, err.partition(":")[0]) == (2, "extra_member")


def test_describe_lists_everything_and_tells_about_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "obl2021" in run(capsys, "describe")[1]
    assert "test-challenge 147,432" in run(capsys, "describe", "lsc-pcqm4mv2")[1]
    assert json.loads(run(capsys, "describe", "obl2021", "--json")[1])["primary"] == "h10"
    assert run(capsys, "describe", "obl2022")[0] == 2


def test_write_example_makes_a_file_that_check_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "write-example", "obl2021", "test", "--folder", tmp_path, "--rows", 20)[0] == 0
    assert run(capsys, "check", "obl2021", tmp_path / "pred_OBL2021.npz", "--rows", 20)[0] == 0
    assert run(capsys, "write-example", "ogbl-ddi", "test", "--folder", tmp_path)[0] == 2
    code, _, err = run(capsys, "write-example", "lsc-pcqm4mv2", "test-dev", "--folder", tmp_path / "missing")
    assert (code, err.partition(":")[0]) == (2, "no_file")


def test_checking_a_file_of_true_size_loads_neither_scikit_learn_nor_threads(tmp_path: Path) -> None:
    _, arrays = synthetic.make("lsc-pcqm4mv2", "test-dev")
    path = submissions.write(tmp_path, "lsc-pcqm4mv2", "test-dev", arrays)
    program = (
        "import sys; from scoring.cli import main; code = main(['check', 'lsc-pcqm4mv2', sys.argv[1]]); "
        "print(code, sorted({'sklearn', 'scipy', 'django', 'torch', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_the_module_is_runnable(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scoring", "check", "obl2021", tmp_path / "pred_OBL2021.npz"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("no_file: ")


def test_a_table_is_checked_against_the_sample_submission(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample, table = tmp_path / "sample.csv", tmp_path / "predictions.csv"
    sample.write_text("id,price\n1,0.0\n2,0.0\n")
    table.write_text("id,price\n2,1.5\n1,2.5\n")
    assert run(capsys, "check", "table", table, "--sample", sample) == (
        0,
        "predictions.csv is valid: 2 rows of id, price\n",
        "",
    )
    table.write_text("id,price\n2,1.5\n")
    code, _, err = run(capsys, "check", "table", table, "--sample", sample)
    assert (code, err.partition(":")[0]) == (2, "missing_ids")
    assert run(capsys, "check", "table", table)[0] == 2


def test_a_schema_in_a_file_says_more_than_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, table = tmp_path / "schema.json", tmp_path / "predictions.csv"
    schema.write_text(json.dumps({"id_column": "id", "columns": [{"name": "price", "minimum": 0}]}))
    table.write_text("id,price\n2,-1.5\n")
    assert "the smallest allowed is 0" in run(capsys, "check", "table", table, "--schema", schema)[2]
    schema.write_text("{")
    assert run(capsys, "check", "table", table, "--schema", schema)[2].startswith("bad_schema: ")


def test_a_metric_is_tried_on_a_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric, solution, sample = (tmp_path / name for name in ("metric.py", "solution.csv", "sample.csv"))
    metric.write_text(
        "def score(solution, submission, row_id_column_name, scale=1.0):\n"
        "    return scale * abs(solution.price - submission.price).mean()\n"
    )
    solution.write_text("id,price,Usage\n1,1,Public\n2,3,Private\n")
    sample.write_text("id,price\n2,0\n1,0\n")
    code, out, _ = run(capsys, "try-metric", metric, solution, sample, "--parameters", '{"scale": 2}', "--json")
    result = json.loads(out)
    assert (code, result["score_public"], result["score_private"]) == (0, 2.0, 6.0)
    metric.write_text("import geopy\n")
    assert "it imports geopy, which is not installed here" in run(capsys, "try-metric", metric, solution, sample)[2]
    metric.write_text("def score(a, b):\n    return 1\n")
    assert "take solution, submission, row_id_column_name" in run(capsys, "try-metric", metric, solution, sample)[2]


def test_datasets_arrays_and_their_programs_need_neither_the_table_library_nor_sacrebleu(tmp_path: Path) -> None:
    reference.write(tmp_path / "ref", "lsc-mag240m", {"test-dev": {"y_true": [1, 2]}})
    submissions.write(tmp_path, "lsc-mag240m", "test-dev", {"y_pred": [1, 3]}, rows=2)
    (tmp_path / "res").mkdir()
    (tmp_path / "y_pred_mag240m_test-dev.npz").rename(tmp_path / "res" / "y_pred_mag240m_test-dev.npz")
    program = (
        "import sys\n"
        "for name in ('polars', 'zstandard', 'sacrebleu', 'pandas'): sys.modules[name] = None\n"
        "import scoring, scoring.cli, scoring.synthetic, scoring.standings, scoring.replicates\n"
        "from scoring.program import main\n"
        "print(scoring.evaluate('spearman', {'y_true': [1, 2, 3], 'y_pred': [1, 2, 4]}), len(scoring.names()))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["{'spearman': 1.0} 33", '{"acc": 0.5}']

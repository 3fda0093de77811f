"""Descriptions, made-up data, and the scores of single samples."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import scoring
from scoring import synthetic
from scoring.formats import layouts

DOCUMENT = Path(__file__).parents[3] / "docs" / "scoring.md"
PACKAGE = Path(scoring.__file__).parent


@pytest.mark.parametrize("name", [*scoring.names(), *scoring.metric_names()])
def test_every_description_is_complete_and_fits_into_json(name: str) -> None:
    known = scoring.describe(name)
    assert json.loads(json.dumps(known))["name"] == name
    assert known["primary"] == known["metrics"][0]["key"]
    for metric in known["metrics"]:
        assert metric["best"] == (metric["range"][1] if metric["direction"] == "max" else metric["range"][0])
    assert all(known[field] for field in ("task", "inputs", "source"))


def test_lower_is_better_only_for_errors() -> None:
    lower = {name for name in scoring.names() if scoring.describe(name)["metrics"][0]["direction"] == "min"}
    assert lower == {"ogbg-molesol", "ogbg-molfreesolv", "ogbg-mollipo", "lsc-pcqm4m", "lsc-pcqm4mv2"}


def test_a_description_belongs_to_the_caller() -> None:
    scoring.describe("obl2021")["splits"].clear()
    assert scoring.describe("obl2021")["splits"]["test"] == 180_964


def test_mag240m_test_splits_add_up() -> None:
    splits = scoring.describe("lsc-mag240m")["splits"]
    assert (splits["test-dev"] or 0) + (splits["test-challenge"] or 0) == splits["test-whole"]


def test_no_two_official_files_share_a_name() -> None:
    files = [layouts.official_filename(name, split) for name in scoring.names() for split in layouts.splits(name)]
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("quality", [0.55, 0.8, 1.0])
@pytest.mark.parametrize("name", ["ogbn-arxiv", "ogbn-proteins", "ogbl-collab", "ogbl-vessel", "obl2021", "ogbg-code2"])
def test_made_up_data_scores_as_good_as_asked(name: str, quality: float) -> None:
    truth, predictions = synthetic.make(name, rows=4000, quality=quality)
    known = scoring.describe(name)
    assert scoring.evaluate(name, truth | predictions)[known["primary"]] == pytest.approx(quality, abs=0.04)


def test_made_up_errors_are_as_large_as_asked() -> None:
    truth, predictions = synthetic.make("lsc-pcqm4mv2", "valid", rows=20_000, quality=0.9)
    assert scoring.evaluate("lsc-pcqm4mv2", truth | predictions)["mae"] == pytest.approx(0.1, abs=0.005)


def test_made_up_data_has_the_true_size_and_is_the_same_every_time() -> None:
    first, again = (synthetic.make("lsc-wikikg90mv2", "test-challenge", seed=3)[1]["t_pred_top10"] for _ in range(2))
    assert first.shape == (10_000, 10)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, synthetic.make("lsc-wikikg90mv2", "test-challenge", seed=4)[1]["t_pred_top10"])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"dataset": "x"}, "unknown_name"),
        ({"split": "test-dev"}, "unknown_split"),
        ({"rows": 0}, "bad_parameter"),
        ({"quality": 1.1}, "bad_parameter"),
    ],
)
def test_data_that_cannot_be_made_up_is_refused(changes: dict[str, object], code: str) -> None:
    with pytest.raises(scoring.ScoringInputError) as caught:
        synthetic.make(**({"dataset": "obl2021", "split": "test"} | changes))  # type: ignore[arg-type]  # what is tested
    assert caught.value.code == code


@pytest.mark.parametrize("name", scoring.names())
def test_the_scores_of_single_samples_average_to_the_score(name: str) -> None:
    split = list(scoring.describe(name)["splits"])[-1]
    truth, predictions = synthetic.make(name, split, rows=300)
    inputs = truth | predictions
    score = scoring.evaluate(name, inputs)
    primary = scoring.describe(name)["primary"]
    if primary in ("rocauc", "ap"):
        with pytest.raises(scoring.ScoringInputError, match="not a mean"):
            scoring.per_sample(name, inputs)
        return
    for key, values in scoring.per_sample(name, inputs).items():
        mean = float(np.mean(values, dtype=np.float64))
        expected = score["rmse"] ** 2 if key == "squared_error" else score[key]
        assert values.dtype == np.float32
        assert mean == pytest.approx(expected, rel=1e-6)


def test_unlabelled_rows_have_no_score_of_their_own() -> None:
    inputs = {"y_true": np.array([[1.0], [np.nan], [2.0]]), "y_pred": np.array([[1.0], [1.0], [1.0]])}
    assert scoring.per_sample("ogbn-arxiv", inputs)["acc"].tolist() == [1.0, 0.0]


def test_every_code_is_used_and_documented() -> None:
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "errors.py"]
    document = DOCUMENT.read_text()
    for code in scoring.CODES:
        assert any(f'"{code}"' in source for source in sources), f"{code} is never raised"
        assert f"`{code}`" in document, f"{code} is not in {DOCUMENT.name}"


def public_functions() -> list[tuple[str, str, str]]:
    """Module, name and docstring of every function that does not start with an underscore."""
    sources = [path for path in sorted(PACKAGE.rglob("*.py")) if "programs" not in path.parts]
    modules = {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in sources}
    return [
        (module, node.name, ast.get_docstring(node) or "")
        for module, tree in modules.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]


@pytest.mark.parametrize(("module", "name", "text"), public_functions())
def test_every_public_function_has_an_example_that_runs_as_a_doctest(module: str, name: str, text: str) -> None:
    assert ">>>" in text, f"{module}: {name} has no example"

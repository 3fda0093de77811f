"""Every golden vector: inputs with the answers of the official evaluators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scoring

CASES = Path(__file__).parents[2] / "data" / "scoring-cases"
Case = dict[str, Any]


def all_cases() -> list[Case]:
    files = sorted(CASES.glob("*/cases.json"))
    return [case | {"folder": file.parent} for file in files for case in json.loads(file.read_text())["cases"]]


def load(case: Case) -> dict[str, Any]:
    with np.load(case["folder"] / case["npz"], allow_pickle=False) as stored:
        arrays = dict(stored)
    if case["evaluator"] != "ogbg-code2":
        return arrays
    return {name: word_lists(arrays, name) for name in ("seq_ref", "seq_pred") if f"{name}_lens" in arrays}


def word_lists(arrays: dict[str, Any], name: str) -> list[list[str]]:
    words = iter(arrays[f"{name}_tokens"].tolist())
    return [[next(words) for _ in range(length)] for length in arrays[f"{name}_lens"]]


def answer(case: Case, inputs: dict[str, Any]) -> dict[str, float] | scoring.ScoringInputError:
    try:
        return scoring.evaluate(case["evaluator"], inputs)
    except scoring.ScoringInputError as error:
        return error


def agrees(case: Case, scores: dict[str, float]) -> bool:
    tolerance = case["tol"]
    return scores.keys() == case["expected"].keys() and all(
        abs(scores[key] - want) <= tolerance["abs"] + tolerance["rel"] * abs(want)
        for key, want in case["expected"].items()
    )


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: f"{case['evaluator']}:{case['name']}")
def test_the_answer_is_the_official_one(case: Case) -> None:
    inputs = load(case)
    before = {name: value.copy() for name, value in inputs.items() if not isinstance(value, list)}
    first, second = answer(case, inputs), answer(case, inputs)
    if isinstance(first, scoring.ScoringInputError):
        assert "error" in case["accept"], first
        assert str(first) == str(second)
    else:
        assert "value" in case["accept"]
        assert agrees(case, first), (first, case["expected"])
        assert first == second
    for name, value in before.items():
        np.testing.assert_array_equal(inputs[name], value)


def test_every_evaluator_has_golden_vectors() -> None:
    assert {case["evaluator"] for case in all_cases()} == set(scoring.names())


@pytest.mark.parametrize(
    "case",
    [case for case in all_cases() if "expected_lists" in case],
    ids=lambda case: f"{case['evaluator']}:{case['name']}",
)
def test_the_lists_per_item_are_the_official_ones(case: Case) -> None:
    if "error" in case["accept"]:
        with pytest.raises(scoring.ScoringInputError):
            scoring.per_sample(case["evaluator"], load(case))
        return
    items = scoring.per_sample(case["evaluator"], load(case))
    with np.load(case["folder"] / case["expected_lists"]) as expected:
        assert {f"{key}_list" for key in items} == set(expected)
        for key, values in items.items():
            assert values.dtype == np.float32
            np.testing.assert_array_equal(values, expected[f"{key}_list"])

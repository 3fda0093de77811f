"""Refusals: the official ones, and of input that would make an evaluator answer NaN or infinity."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import scoring
from scoring import synthetic
from scoring.arrays import BLOCK, require_finite

NAN, INF = float("nan"), float("inf")
TEN = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]
SHARED_NEGATIVES = ["ogbl-collab", "ogbl-ddi", "ogbl-ppa"]
LABELS = np.array([[0.0], [1.0]])


def made(name: str, **changes: Any) -> dict[str, Any]:
    split = list(scoring.describe(name)["splits"])[-1]
    truth, prediction = synthetic.make(name, split, rows=40)
    return truth | prediction | changes


def refusal(name: str, inputs: dict[str, Any]) -> scoring.ScoringInputError:
    with pytest.raises(scoring.ScoringInputError) as caught:
        scoring.evaluate(name, inputs)
    return caught.value


@pytest.mark.parametrize("name", scoring.names())
def test_every_evaluator_scores_its_made_up_data_with_finite_numbers_in_range(name: str) -> None:
    scores = scoring.evaluate(name, made(name))
    metrics = {metric["key"]: metric for metric in scoring.describe(name)["metrics"]}
    assert scores.keys() == metrics.keys()
    for key, score in scores.items():
        lowest, highest = metrics[key]["range"]
        assert (-INF if lowest is None else lowest) <= score <= (INF if highest is None else highest)


@pytest.mark.parametrize("name", scoring.names())
def test_every_evaluator_names_the_array_that_is_missing(name: str) -> None:
    for missing in [entry["name"] for entry in scoring.describe(name)["inputs"]]:
        inputs = made(name)
        del inputs[missing]
        error = refusal(name, inputs)
        assert (error.code, error.where) == ("missing_input", missing)


@pytest.mark.parametrize("name", [name for name in scoring.names() if name not in SHARED_NEGATIVES])
def test_every_evaluator_refuses_empty_inputs(name: str) -> None:
    assert refusal(name, {key: value[:0] for key, value in made(name).items()}).code == "empty_input"


@pytest.mark.parametrize("name", SHARED_NEGATIVES)
def test_hits_without_positives_are_refused_unless_there_are_too_few_negatives(name: str) -> None:
    inputs = made(name)
    inputs["y_pred_pos"] = inputs["y_pred_pos"][:0]
    assert refusal(name, inputs).code == "empty_input"
    inputs["y_pred_neg"] = inputs["y_pred_neg"][:19]
    assert list(scoring.evaluate(name, inputs).values()) == [1.0]  # the official shortcut


@pytest.mark.parametrize("name", [name for name in scoring.names() if name != "ogbg-code2"])
def test_every_evaluator_refuses_objects_text_complex_and_masked_arrays(name: str) -> None:
    for entry in scoring.describe(name)["inputs"]:
        array = made(name)[entry["name"]]
        for wrong in (array.astype(object), array.astype(str), array.astype(complex), np.ma.masked_array(array)):
            error = refusal(name, made(name, **{entry["name"]: wrong}))
            assert error.code in ("wrong_dtype", "wrong_type")
            assert error.where == entry["name"]


@pytest.mark.parametrize("name", [name for name in scoring.names() if name not in (*SHARED_NEGATIVES, "ogbl-vessel")])
def test_every_evaluator_refuses_one_row_too_few(name: str) -> None:
    for entry in scoring.describe(name)["inputs"]:
        inputs = made(name)
        inputs[entry["name"]] = inputs[entry["name"]][:-1]
        assert refusal(name, inputs).code == "wrong_shape"


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("ogbn-arxiv", {"y_true": [1, 2], "y_pred": [1, 2]}, "wrong_shape"),
    ("ogbn-arxiv", {"y_true": [[NAN]], "y_pred": [[1]]}, "no_labelled_rows"),
    ("ogbg-molhiv", {"y_true": [[1.0], [1.0]], "y_pred": [[0.1], [0.2]]}, "no_scorable_task"),
    ("ogbg-molhiv", {"y_true": [[1], [0], [2]], "y_pred": [[0.1], [0.2], [0.3]]}, "not_binary"),
    ("ogbg-molhiv", {"y_true": LABELS, "y_pred": [[NAN], [0.2]]}, "nan"),
    ("ogbg-molhiv", {"y_true": LABELS, "y_pred": [[0.1], [-INF]]}, "infinite"),
    ("ogbg-molesol", {"y_true": LABELS, "y_pred": [[NAN], [0.2]]}, "nan"),
    ("ogbg-molesol", {"y_true": LABELS, "y_pred": [[INF], [0.2]]}, "infinite"),
    ("ogbg-molesol", {"y_true": [[NAN]], "y_pred": [[1.0]]}, "no_labelled_rows"),
    ("ogbg-molesol", {"y_true": np.array([[0]], np.float32), "y_pred": np.array([[2e19]], np.float32)}, "infinite"),
    ("ogbg-molesol", {"y_true": np.array([[-100]], np.int8), "y_pred": np.array([[100]], np.int8)}, "inexact"),
    ("ogbg-molesol", {"y_true": np.array([[True]]), "y_pred": np.array([[False]])}, "wrong_dtype"),
    ("lsc-pcqm4mv2", {"y_true": [1.0, 2.0], "y_pred": [[1.0], [2.0]]}, "wrong_shape"),
    ("lsc-pcqm4mv2", {"y_true": [1.0, NAN], "y_pred": [1.0, 2.0]}, "nan"),
    ("lsc-pcqm4mv2", {"y_true": [1.0, 2.0], "y_pred": [1.0, INF]}, "infinite"),
    ("lsc-pcqm4mv2", {"y_true": [1e308, 1e308], "y_pred": [-1e308, -1e308]}, "infinite"),
    ("lsc-pcqm4mv2", {"y_true": np.array([0], np.uint8), "y_pred": np.array([1], np.uint8)}, "inexact"),
    ("lsc-mag240m", {"y_true": [1], "y_pred": np.array([1], np.uint16)}, "wrong_dtype"),
    ("lsc-mag240m", {"y_true": [1], "y_pred": np.array([1], ">i2")}, "wrong_dtype"),
    ("ogbl-collab", {"y_pred_pos": [NAN], "y_pred_neg": np.zeros(50)}, "nan"),
    ("ogbl-collab", {"y_pred_pos": [1.0], "y_pred_neg": np.full(50, NAN)}, "nan"),
    ("ogbl-collab", {"y_pred_pos": [[1.0]], "y_pred_neg": np.zeros(50)}, "wrong_shape"),
    ("ogbl-vessel", {"y_pred_pos": [], "y_pred_neg": [0.1]}, "empty_input"),
    ("ogbl-vessel", {"y_pred_pos": [INF], "y_pred_neg": [0.1]}, "infinite"),
    ("ogbl-citation2", {"y_pred_pos": [NAN], "y_pred_neg": [[0.1]]}, "nan"),
    ("ogbl-citation2", {"y_pred_pos": [0.3], "y_pred_neg": [[0.1, NAN]]}, "nan"),
    ("ogbl-citation2", {"y_pred_pos": [0.1, 0.2, 0.3], "y_pred_neg": [[0.1]]}, "wrong_shape"),
    ("ogbl-citation2", {"y_pred_pos": [0.1], "y_pred_neg": [[0.1], [0.2]]}, "wrong_shape"),
    ("ogbl-citation2", {"y_pred_pos": [0.1], "y_pred_neg": np.zeros((1, 0))}, "empty_input"),
    ("lsc-wikikg90mv2", {"t_pred_top10": TEN, "t": [-1]}, "out_of_range"),
    ("lsc-wikikg90mv2", {"t_pred_top10": [TEN[0][:9]], "t": [1]}, "wrong_shape"),
    ("lsc-wikikg90mv2", {"t_pred_top10": np.array(TEN, np.uint32), "t": [1]}, "wrong_dtype"),
    ("lsc-wikikg90m", {"t_pred_top10": np.array(TEN, np.int16), "t_correct_index": [1001]}, "out_of_range"),
    ("lsc-wikikg90m", {"t_pred_top10": np.array(TEN, np.int16) - 1, "t_correct_index": [1]}, "out_of_range"),
    ("lsc-wikikg90m", {"t_pred_top10": np.array(TEN, np.int8), "t_correct_index": [1]}, "wrong_dtype"),
    ("lsc-wikikg90m", {"t_pred_top10": np.array(TEN) * NAN, "t_correct_index": [1]}, "out_of_range"),
    ("obl2021", {"h_pred_top10": TEN, "t_pred_top10": TEN, "triples": [[0, 0]]}, "wrong_shape"),
    ("obl2021", {"h_pred_top10": TEN, "t_pred_top10": TEN, "triples": [[-1, 0, 1]]}, "out_of_range"),
    ("ogbg-code2", {"seq_ref": [["a"]], "seq_pred": ["a"]}, "wrong_type"),
    ("ogbg-code2", {"seq_ref": [["a"]], "seq_pred": [[1]]}, "wrong_type"),
    ("ogbg-code2", {"seq_ref": (["a"],), "seq_pred": [["a"]]}, "wrong_type"),
    ("accuracy", {"y_true": [1, 2], "y_pred": [1.0, NAN]}, "nan"),
    ("balanced_accuracy", {"y_true": [1, 2], "y_pred": [1.5, 2.0]}, "out_of_range"),
]


@pytest.mark.parametrize(("name", "inputs", "code"), REFUSALS)
def test_what_cannot_be_scored_is_refused_with_its_code(name: str, inputs: dict[str, Any], code: str) -> None:
    arrays = {key: value if name == "ogbg-code2" else np.asarray(value) for key, value in inputs.items()}
    error = refusal(name, arrays)
    assert error.code == code
    assert error.where in str(error)
    assert str(error).endswith(".")


def test_a_nan_prediction_for_an_unlabelled_place_has_no_effect() -> None:
    labels = np.array([[1.0], [0.0], [NAN]])
    assert scoring.evaluate("ogbg-molhiv", {"y_true": labels, "y_pred": np.array([[2.0], [1.0], [NAN]])})["rocauc"] == 1
    assert scoring.evaluate("ogbg-molesol", {"y_true": labels, "y_pred": labels})["rmse"] == 0


def test_scores_of_a_task_that_is_left_out_are_not_looked_at() -> None:
    labels = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert scoring.roc_auc(labels, [[2.0, INF], [1.0, NAN]]) == 1.0


def test_a_nan_class_counts_as_wrong_in_the_official_accuracy_alone() -> None:
    arrays = {"y_true": np.array([[1], [2]]), "y_pred": np.array([[1.0], [NAN]])}
    assert scoring.evaluate("ogbn-arxiv", arrays) == {"acc": 0.5}
    with pytest.raises(scoring.ScoringInputError, match="it holds NaN"):
        scoring.accuracy(arrays["y_true"], arrays["y_pred"])


@pytest.mark.parametrize(("value", "what"), [(NAN, "NaN"), (INF, "infinity"), (-INF, "infinity")])
@pytest.mark.parametrize("shape", [(7,), (7, 3), (BLOCK + 7,)], ids=["vector", "matrix", "two blocks"])
def test_the_first_row_that_holds_no_number_is_named(shape: tuple[int, ...], value: float, what: str) -> None:
    array = np.zeros(shape)
    array[-3:-1] = value
    with pytest.raises(scoring.ScoringInputError, match=f"it holds {what}, first in row {shape[0] - 3:,} \\(from 0\\)"):
        require_finite(array, "y_pred")


def test_infinite_scores_are_ordinary_for_ranks_and_hits() -> None:
    assert scoring.ranks([INF, -INF], [[1.0, INF], [1.0, -INF]]).tolist() == [1.5, 2.5]
    assert scoring.hits_at_k([INF, 0.0], [1.0, -INF], k=1) == 0.5


def test_an_unknown_name_is_answered_with_the_nearest_known_one() -> None:
    assert "did you mean 'lsc-pcqm4mv2'" in str(refusal("lsc-pcqm4v2", {}))


def test_an_error_survives_pickling() -> None:
    error = scoring.ScoringInputError("nan", "y_pred", "it holds NaN", "give numbers")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code, copy.where) == (str(error), "nan", "y_pred")


def test_an_error_with_a_code_outside_the_vocabulary_cannot_be_made() -> None:
    with pytest.raises(KeyError, match="CODES"):
        scoring.ScoringInputError("no such code", "here", "this", "that")

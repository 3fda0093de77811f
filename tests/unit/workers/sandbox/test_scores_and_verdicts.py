"""Reading scores and refusals, and what evidence means."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.unit.workers.limits import limits
from workers.engines.base import Usage
from workers.sandbox.scores import Refusal, ScoresInvalid, read_progress, read_refusal, read_scores
from workers.sandbox.stage import Evidence
from workers.sandbox.verdict import ingestion_verdict, scoring_verdict

LIMITS = limits(10, memory_bytes=1 << 27, cpus=1.0)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
WELL = Evidence("ingestion", 0, False, None, NOW, NOW, 1.0, Usage(1.0, 1, 1, 0), 10, False, False)

SCORES = {
    "a number": ('{"mae": 0.1}', 0.1),
    "a whole number": ('{"mae": 3}', 3.0),
    "other keys": ('{"mae": 0.1, "more": "text"}', 0.1),
    "NaN": ('{"mae": NaN}', "score_not_finite"),
    "infinity": ('{"mae": -Infinity}', "score_not_finite"),
    "a number beyond all floats": (f'{{"mae": 1{"0" * 400}}}', "score_not_finite"),
    "a truth value": ('{"mae": true}', 1.0),
    "a number as text": ('{"mae": "1e-3"}', 0.001),
    "a text": ('{"mae": "good"}', "score_not_finite"),
    "a mapping": ('{"mae": {"a": 1}}', "score_not_finite"),
    "nested extras": ('{"mae": 0.1, "all": {"a": [1, 2]}, "list": []}', 0.1),
    "null": ('{"mae": null}', "score_not_finite"),
    "no such column": ('{"MAE": 0.1}', "column_missing"),
    "a list": ("[0.1]", "scores_unreadable"),
    "half a file": ('{"mae": 0.', "scores_unreadable"),
    "deep nesting": ("[" * 100_000, "scores_unreadable"),
    "nothing": (None, "no_scores"),
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_finite_numbers_of_declared_columns_or_an_error_with_a_code(tmp_path: Path, name: str) -> None:
    text, expected = SCORES[name]
    if text is not None:
        (tmp_path / "scores.json").write_text(text)
    if isinstance(expected, float):
        assert read_scores(tmp_path, ["mae"]).values == {"mae": expected}
        return
    with pytest.raises(ScoresInvalid) as invalid:
        read_scores(tmp_path, ["mae"])
    assert invalid.value.code == expected
    assert "scores.json" in invalid.value.detail


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mae: 0.5\n", 0.5),
        ("mae:0.5\nother:2\n", 0.5),
        ("mae: 1e-3", 0.001),
        ("\ufeffmae: yes\n", 1.0),
        ("mae: .nan", "score_not_finite"),
        ("mae: .inf", "score_not_finite"),
        ("mae:nan", "score_not_finite"),
        ("hello", "scores_unreadable"),
        ("", "scores_unreadable"),
        ("- 1\n- 2", "scores_unreadable"),
        ("a: &a [1]\nmae: *a", "scores_unreadable"),
        ("other: 1", "column_missing"),
        ("set1_score: 0.3\nmae: 0.2", 0.2),
        ("mae: 0.1\nextra: {a: b}", 0.1),
    ],
)
def test_scores_may_be_written_as_text(tmp_path: Path, text: str, expected: float | str) -> None:
    (tmp_path / "scores.txt").write_text(text)
    if isinstance(expected, float):
        assert read_scores(tmp_path, ["mae"]).values == {"mae": expected}
        return
    with pytest.raises(ScoresInvalid, match=r"scores\.txt") as invalid:
        read_scores(tmp_path, ["mae"])
    assert invalid.value.code == expected


def test_json_wins_over_text_and_what_is_left_out_is_remarked(tmp_path: Path) -> None:
    (tmp_path / "scores.txt").write_text("mae: 9")
    (tmp_path / "scores.json").write_text('{"mae": 1, "Duration": 3}')
    read = read_scores(tmp_path, ["mae", "auc"])
    assert read.values == {"mae": 1.0}
    assert len(read.notes) == 2
    assert "'Duration' is not a column" in read.notes[0]
    assert "no value for the column 'auc'" in read.notes[1]


def test_a_refusal_has_a_code_and_a_message_without_control_characters(tmp_path: Path) -> None:
    (tmp_path / "refusal.json").write_text('{"code": "wrong_shape", "message": "a\\u001b[2Jb\\u202ec"}')
    refusal = read_refusal(tmp_path)
    assert refusal is not None
    assert refusal.code == "wrong_shape"
    assert refusal.message == "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}c"


@pytest.mark.parametrize("text", ["", "[]", '{"code": "x"}', '{"message": 5}', "{" * 10_000, '"x"'])
def test_what_is_no_refusal_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "refusal.json").write_text(text)
    assert read_refusal(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"fraction": 0.5}', 0.5),
        ('{"fraction": 2}', None),
        ('{"fraction": NaN}', None),
        ("x" * 5000, None),
        ("[1]", None),
    ],
)
def test_progress_is_a_fraction_or_nothing(tmp_path: Path, text: str, expected: float | None) -> None:
    (tmp_path / "progress.json").write_text(text)
    assert read_progress(tmp_path) == expected


VERDICTS: dict[str, tuple[dict[str, Any], tuple[str, str] | None]] = {
    "ended well": ({}, None),
    "non-zero exit": ({"exit_code": 3}, ("program_error", "exit_code")),
    "an exit code that looks like an out-of-memory kill": ({"exit_code": 137}, ("program_error", "exit_code")),
    "out of memory": ({"exit_code": 137, "oom_killed": True}, ("memory_limit", "out_of_memory")),
    "a child out of memory, the program well": ({"oom_killed": True}, None),
    "killed at the limit": ({"exit_code": 137, "killed_by": "time_limit"}, ("time_limit", "time_limit")),
    "killed at the limit while out of memory": (
        {"exit_code": 137, "killed_by": "time_limit", "oom_killed": True},
        ("time_limit", "time_limit"),
    ),
    "a full disk and an error": ({"exit_code": 1, "output_full": True}, ("disk_limit", "output_full")),
    "a full disk and no error": ({"output_full": True}, ("disk_limit", "output_full")),
    "no inodes": ({"exit_code": 1, "output_no_inodes": True}, ("disk_limit", "too_many_files")),
    "outgrown": ({"exit_code": 137, "killed_by": "output_limit"}, ("disk_limit", "output_full")),
    "too many files": ({"exit_code": 137, "killed_by": "output_files"}, ("disk_limit", "too_many_files")),
    "folders in folders": ({"exit_code": 137, "killed_by": "output_depth"}, ("output_invalid", "too_deep")),
    "a hidden folder": ({"exit_code": 137, "killed_by": "output_hidden"}, ("output_invalid", "unreadable_output")),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_participants_verdict_follows_the_engine_and_the_worker_before_the_exit_code(name: str) -> None:
    changes, expected = VERDICTS[name]
    verdict = ingestion_verdict(replace(WELL, **changes), LIMITS)
    assert (None if verdict is None else (verdict.reason, verdict.code)) == expected


def test_the_scoring_stage_is_the_organizers_except_for_a_refusal_with_its_exit_code() -> None:
    refusal = Refusal("wrong_shape", "Expected 400 rows.")
    crashed = scoring_verdict(replace(WELL, exit_code=1), LIMITS, refusal)
    refused = scoring_verdict(replace(WELL, exit_code=65), LIMITS, refusal)
    unsaid = scoring_verdict(replace(WELL, exit_code=65), LIMITS, None)
    killed = scoring_verdict(replace(WELL, exit_code=65, killed_by="time_limit"), LIMITS, refusal)
    assert [v and (v.reason, v.code) for v in (crashed, refused, unsaid, killed)] == [
        ("scoring_error", "exit_code"),
        ("output_invalid", "wrong_shape"),
        ("scoring_error", "exit_code"),
        ("scoring_error", "time_limit"),
    ]
    assert refused is not None
    assert refused.detail == "Expected 400 rows."


def test_an_ingestion_program_refuses_at_the_price_of_a_scoring_program() -> None:
    refusal = Refusal("no_model", "There is no model.pkl.")
    refused = ingestion_verdict(replace(WELL, exit_code=65), LIMITS, refusal)
    scorer = scoring_verdict(replace(WELL, exit_code=65), LIMITS, refusal)
    assert refused is not None
    assert scorer is not None
    assert (refused.reason, refused.code, refused.detail) == (scorer.reason, scorer.code, scorer.detail)
    assert (refused.refused_by, scorer.refused_by) == ("ingestion", "")
    for changes in ({"exit_code": 1}, {"exit_code": 65, "killed_by": "time_limit"}):
        verdict = ingestion_verdict(replace(WELL, **changes), LIMITS, refusal)
        assert verdict is not None
        assert verdict.detail != refusal.message
    unsaid = ingestion_verdict(replace(WELL, exit_code=65), LIMITS, None)
    assert unsaid is not None
    assert unsaid.reason == "program_error"


def test_a_cancelled_stage_is_cancelled_whatever_else_happened() -> None:
    verdict = ingestion_verdict(replace(WELL, exit_code=137, killed_by="cancelled", oom_killed=True), LIMITS)
    assert verdict is not None
    assert verdict.outcome == "cancelled"

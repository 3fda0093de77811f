"""Hostile or broken scoring programs, predictions and archives: they fail with the right blame."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from tests.engines import IN_GVISOR, skip_unless_held
from tests.integration.workers.harness import SCORER, Bench, zipped
from workers.protocol.hosts import HeldLimit

WRITE = "import pathlib, sys, json\nput = lambda name, text: pathlib.Path('/app/output', name).write_text(text)\n"
SCORERS = {
    "scores that are not a number": ("put('scores.json', '{\"score\": NaN}')", "scoring_error", "score_not_finite"),
    "scores that are infinite": ("put('scores.json', '{\"score\": 1e999}')", "scoring_error", "score_not_finite"),
    "a whole number beyond all floats": (
        "put('scores.json', '{\"score\": 1' + '0' * 400 + '}')",
        "scoring_error",
        "score_not_finite",
    ),
    "a text for a score": ("put('scores.json', '{\"score\": \"fast\"}')", "scoring_error", "score_not_finite"),
    "a million digits that are no number": (
        "put('scores.json', '{\"score\": \"' + '0' * 1000000 + 'x\"}')",
        "scoring_error",
        "score_not_finite",
    ),
    "a missing column": ("put('scores.json', '{\"other\": 1}')", "scoring_error", "column_missing"),
    "no scores at all": ("put('other.json', '{}')", "scoring_error", "no_scores"),
    "JSON nested 100,000 deep": ("put('scores.json', '[' * 100000)", "scoring_error", "scores_unreadable"),
    "scores of 2 MB": (
        "put('scores.json', '{\"score\": 1, \"x\": \"' + 'y' * 2000000)",
        "scoring_error",
        "scores_unreadable",
    ),
    "a link for scores": (
        "import os; os.symlink('/app/input/ref/labels.txt', '/app/output/scores.json')",
        "scoring_error",
        "link_in_output",
    ),
    # A pipe of a program in gVisor is not there for anybody else.
    "a pipe for scores": (
        "import os; os.mkfifo('/app/output/scores.json')",
        "scoring_error",
        "no_scores" if IN_GVISOR else "special_file",
    ),
    "a crash": ("raise SystemExit(1)", "scoring_error", "exit_code"),
    "a refusal without its exit code": (
        "put('refusal.json', json.dumps({'code': 'wrong_shape', 'message': 'no'})); sys.exit(1)",
        "scoring_error",
        "exit_code",
    ),
    "the refusal's exit code without a refusal": ("sys.exit(65)", "scoring_error", "exit_code"),
    "a refusal as it should be": (
        "put('refusal.json', json.dumps({'code': 'wrong_shape', 'message': 'Expected 400 rows, got 3.'})); sys.exit(65)",
        "output_invalid",
        "wrong_shape",
    ),
    "a refusal with an odd code": (
        "put('refusal.json', json.dumps({'code': '<b>', 'message': 'a\\u202eb'})); sys.exit(65)",
        "output_invalid",
        "refused",
    ),
    "out of memory": ("x = [bytearray(8 << 20) for _ in range(10000)]", "scoring_error", "out_of_memory"),
    "a full output": ("put('big', 'x' * (64 << 20))", "scoring_error", None),
}


@pytest.mark.parametrize("name", SCORERS)
def test_a_broken_scorer_is_the_organizers_fault_unless_it_refuses_the_file(bench: Bench, name: str) -> None:
    source, reason, code = SCORERS[name]
    if code == "out_of_memory":
        skip_unless_held(bench.worker.facts, HeldLimit.MEMORY)
    outcome = bench.run(prediction_job(bench, WRITE + source))
    assert outcome.reason == reason, outcome.result["detail"]
    if code is not None:
        assert outcome.code == code, outcome.result["detail"]
    assert outcome.result["scores"] == {}
    assert "\u202e" not in outcome.result["detail"]


REFUSES = (
    WRITE + "put('refusal.json', json.dumps({'code': 'no_model', 'message': 'There is no model.pkl.'})); sys.exit(65)"
)


def ingestion_job(bench: Bench, source: str, *, submission: str) -> dict[str, Any]:
    """The organizers' ingestion program around a submission."""
    job = bench.code_job(source)
    job["stages"][0]["mounts"].append(bench.program("/app/ingested_program", submission))
    return job


def test_an_ingestion_program_refuses_in_its_own_words_and_a_submission_cannot(bench: Bench) -> None:
    refused = bench.run(ingestion_job(bench, REFUSES, submission="print()"))
    assert (refused.reason, refused.code, refused.result["detail"]) == (
        "output_invalid",
        "no_model",
        "There is no model.pkl.",
    )
    assert refused.result["refused_by"] == "ingestion"
    own = bench.run(bench.code_job(REFUSES))
    assert (own.reason, own.code) == ("program_error", "exit_code")


def prediction_job(bench: Bench, scorer: str, content: bytes = b"0.5", *, unpack: bool = False) -> dict[str, Any]:
    """A prediction submission: one file, or an archive."""
    file = {"target": "/app/input/res", "file": bench.file(content, "answer.txt"), "unpack": unpack}
    scoring = bench.stage(
        "scoring",
        [bench.program("/app/program", scorer), bench.mount("/app/input/ref", {"labels.txt": "1"}, secret=True), file],
    )
    return bench.job([scoring])


def test_a_scorer_that_hangs_ends_at_its_limit_and_is_the_organizers_fault(bench: Bench) -> None:
    job = prediction_job(bench, "import time; time.sleep(60)")
    job["stages"][0]["limits"]["wall_s"] = 1
    outcome = bench.run(job)
    assert (outcome.reason, outcome.code) == ("scoring_error", "time_limit")


def test_undeclared_columns_are_ignored_and_declared_ones_are_kept(bench: Bench) -> None:
    outcome = bench.run(prediction_job(bench, WRITE + 'put(\'scores.json\', \'{"score": 2, "rank": NaN, "x": {}}\')'))
    assert outcome.result["scores"] == {"score": 2.0}


def test_a_pickle_in_a_prediction_file_is_never_run(bench: Bench) -> None:
    scorer = """
import numpy, sys, json, os, pathlib
try:
    numpy.load('/app/input/res/answer.txt')
    sys.exit(1)
except ValueError as error:
    assert not os.path.exists('/tmp/PWNED')
    pathlib.Path('/app/output/refusal.json').write_text(json.dumps({'code': 'pickled', 'message': str(error)}))
    sys.exit(65)
"""
    pickled = b"cos\nsystem\n(S'touch /tmp/PWNED'\ntR."
    assert bench.run(prediction_job(bench, scorer, pickled)).code == "pickled"


def archive_with(name: str, content: bytes = b"0.5", *, mode: int = 0o644, kind: int = 0o100000) -> bytes:
    """An archive with one odd entry."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (kind | mode) << 16
        archive.writestr(entry, content)
    return buffer.getvalue()


def encrypted() -> bytes:
    """An archive that says its entry is encrypted."""
    content = bytearray(zipped({"answer.txt": "0.5"}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def lying_size() -> bytes:
    """An archive whose directory says that an entry is smaller than it is."""
    return renamed_size(zipped({"answer.txt": b"0" * 100_000}), 100_000, 10)


def renamed_size(content: bytes, size: int, header_size: int) -> bytes:
    """The archive with another size in its headers."""
    return content.replace(size.to_bytes(4, "little"), header_size.to_bytes(4, "little"))


ARCHIVES = {
    "a path outside": (archive_with("../HOSTILE_1"), "path_outside"),
    "an absolute path": (archive_with("/tmp/HOSTILE_2"), "path_outside"),
    "a drive letter": (archive_with("C:/HOSTILE_3"), "path_outside"),
    "backslashes": (archive_with("..\\HOSTILE_4"), "path_outside"),
    "a symbolic link": (archive_with("answer.txt", b"/etc/passwd", kind=0o120000), "link_in_archive"),
    "a device": (archive_with("answer.txt", b"", kind=0o060000), "link_in_archive"),
    "an encrypted entry": (encrypted(), "encrypted"),
    "a truncated archive": (zipped({"answer.txt": "0.5"})[:-30], "bad_archive"),
    "a page for an archive": (b"<!doctype html><p>not a zip", "bad_archive"),
    "an entry larger than it says": (lying_size(), None),
    "a bomb": (renamed_size(zipped({"answer.txt": bytes(1 << 20)}), 1 << 20, 1 << 31), "too_large"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_hostile_prediction_archive_is_refused_before_any_container_starts(bench: Bench, name: str) -> None:
    content, code = ARCHIVES[name]
    outcome = bench.run(prediction_job(bench, SCORER, content, unpack=True))
    assert outcome.reason == "output_invalid", outcome.result["detail"]
    assert code is None or outcome.code == code, outcome.result["detail"]
    assert outcome.result["stages"] == []
    assert list(bench.worker.data_dir.parent.rglob("HOSTILE_*")) == []


def test_set_user_id_bits_of_an_archive_do_not_survive(bench: Bench) -> None:
    scorer = """
import os, stat, json, pathlib
mode = stat.S_IMODE(os.stat('/app/input/res/answer.txt').st_mode)
pathlib.Path('/app/output/scores.json').write_text(json.dumps({'score': mode}))
"""
    outcome = bench.run(prediction_job(bench, scorer, archive_with("answer.txt", mode=0o6777), unpack=True))
    assert outcome.result["scores"] == {"score": float(0o755)}


METADATA = {
    "code in YAML": ("command: !!python/object/apply:os.system ['touch /tmp/PWNED_BY_yaml']\n", "bad_metadata"),
    "aliases": ("a: &a [x, x]\nb: *a\ncommand: python3 main.py\n", "bad_metadata"),
    "no command": ("description: hello\n", "no_command"),
    "a list for a command": ("command: [python3, main.py]\n", "no_command"),
    "a lonely quote": ("command: python3 'main.py\n", "bad_command"),
    "no mapping": ("just text\n", "no_command"),
}


@pytest.mark.parametrize("name", METADATA)
def test_a_program_that_does_not_say_how_to_run_it_is_refused_with_what_is_missing(bench: Bench, name: str) -> None:
    text, code = METADATA[name]
    job = bench.code_job("")
    job["stages"][0]["mounts"][0] = bench.mount("/app/program", {"metadata.yaml": text})
    outcome = bench.run(job)
    assert (outcome.reason, outcome.code) == ("program_error", code), outcome.result["detail"]
    assert "metadata.yaml" in outcome.result["detail"]


def test_a_command_is_never_given_to_a_shell(bench: Bench) -> None:
    job = bench.code_job("")
    source = "import sys; print(sys.argv[1:]); open('/app/output/answer.txt', 'w').write('0.5')"
    metadata = "command: python3 $program/main.py $HOME ; touch /tmp/x && echo `id` $(id) $input_data\n"
    job["stages"][0]["mounts"][0] = bench.mount("/app/program", {"main.py": source, "metadata.yaml": metadata})
    outcome = bench.run(job)
    assert "['$HOME', ';', 'touch', '/tmp/x', '&&', 'echo', '`id`', '$(id)', '/app/input_data']" in outcome.log

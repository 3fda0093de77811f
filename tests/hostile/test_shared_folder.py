"""Two containers with one shared folder: no submission leads its scorer to the labels there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engines import not_in_gvisor
from tests.hostile.programs import shared
from tests.integration.workers.harness import Bench, Outcome
from workers.engines.base import GVISOR
from workers.engines.docker import config
from workers.engines.docker.config import seccomp_profile

LABEL = "0.9321"


def job_beside(bench: Bench, source: str, scorer: str = shared.TRUSTING_SCORER) -> dict[str, Any]:
    """A submission's program beside a scoring program that alone has the labels."""
    ingestion = bench.stage("ingestion", [bench.program("/app/program", source)])
    labels = bench.mount("/app/input/ref", {"labels.txt": LABEL}, secret=True)
    scoring = bench.stage("scoring", [bench.program("/app/program", scorer), labels])
    together = {"step": 2, "shared": True}
    return bench.job([ingestion | together, scoring | together])


def scorer_log(outcome: Outcome) -> str:
    return outcome.outbox["scoring.log"].decode()


def skip_unless_mounted(bench: Bench) -> None:
    """Skip a test of the mount that follows no links, where a worker without root can mount nothing."""
    if not bench.worker.quota:
        pytest.skip("this worker can mount nothing: the filter of system calls alone keeps links away")


@pytest.fixture(params=["mount and system calls", "system calls alone"])
def either_way(request: pytest.FixtureRequest, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A host that can mount without following links, and one that cannot."""
    if request.param == "system calls alone":
        monkeypatch.setattr(bench.worker, "quota", False)
    else:
        skip_unless_mounted(bench)
    return bench


@not_in_gvisor
def test_a_link_to_the_labels_scores_nothing(either_way: Bench) -> None:
    outcome = either_way.run(job_beside(either_way, shared.LINK_TO_LABELS))
    assert outcome.log.splitlines().pop() == "regular MADE", outcome.log
    assert outcome.log.count("MADE") == 1, outcome.log
    assert outcome.result["scores"] == {"score": -1.0}, scorer_log(outcome)
    assert LABEL not in scorer_log(outcome)


@not_in_gvisor
def test_a_link_that_comes_and_goes_scores_nothing(either_way: Bench) -> None:
    outcome = either_way.run(job_beside(either_way, shared.RACE))
    assert outcome.result["scores"] == {"score": -1.0}, scorer_log(outcome)


@not_in_gvisor
def test_honest_predictions_in_the_shared_folder_are_scored(either_way: Bench) -> None:
    outcome = either_way.run(job_beside(either_way, shared.HONEST))
    assert outcome.result["scores"] == {"score": 0.25}, scorer_log(outcome)


@not_in_gvisor
def test_the_mount_alone_follows_no_link(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_unless_mounted(bench)
    monkeypatch.setattr(config, "seccomp_profile", lambda *, plain_files: seccomp_profile(plain_files=False))
    outcome = bench.run(job_beside(bench, shared.LINK_TO_LABELS))
    assert "symlink MADE" in outcome.log, "the control: without the filter there is a link to follow"
    assert outcome.result["scores"] == {"score": -1.0}, scorer_log(outcome)
    assert "SCORER OSError 40" in scorer_log(outcome), "too many levels of symbolic links"


@not_in_gvisor
def test_without_both_the_label_would_be_scored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "seccomp_profile", lambda *, plain_files: seccomp_profile(plain_files=False))
    monkeypatch.setattr(bench.worker, "quota", False)
    outcome = bench.run(job_beside(bench, shared.LINK_TO_LABELS))
    assert outcome.result["scores"] == {"score": float(LABEL)}, "the control: this is what the other tests keep out"


@not_in_gvisor
def test_a_scorer_is_not_led_out_of_the_folder_when_it_writes(bench: Bench) -> None:
    scorer = """
import json, os, pathlib, time
while not os.path.lexists('/app/shared/ready'):
    time.sleep(0.02)
try:
    pathlib.Path('/app/shared/progress.json').write_text(json.dumps({'score': 1}))
except OSError as error:
    print('refused', error.errno)
pathlib.Path('/app/output/scores.json').write_text(json.dumps({'score': 0.5}))
"""
    source = """
import os
try:
    os.symlink('/app/output/scores.json', '/app/shared/progress.json')
except OSError as error:
    print('refused', error.errno)
open('/app/shared/ready', 'w').close()
"""
    outcome = bench.run(job_beside(bench, source, scorer))
    assert outcome.result["scores"] == {"score": 0.5}, json.dumps(outcome.result)


@not_in_gvisor
def test_links_of_an_output_lead_nowhere_while_the_program_runs(bench: Bench) -> None:
    skip_unless_mounted(bench)
    source = """
import os
os.symlink('/app/program/main.py', '/app/output/link')
try:
    print('READ', open('/app/output/link').read())
except OSError as error:
    print('refused', error.errno)
os.remove('/app/output/link')
open('/app/output/answer.txt', 'w').write('0.5')
"""
    outcome = bench.run(bench.code_job(source))
    assert outcome.log == "refused 40\n"
    assert outcome.result["scores"] == {"score": 0.5}


def test_a_worker_in_gvisor_takes_no_programs_that_share_a_folder(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.worker, "runtime", GVISOR)
    outcome = bench.run(job_beside(bench, shared.HONEST))
    assert (outcome.reason, outcome.code) == ("infrastructure", "shared_folder_refused")

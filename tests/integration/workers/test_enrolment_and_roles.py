"""Workers that try their limits before they register, and workers that only ingest or only score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from competitions.compute.models import ComputeWorker
from competitions.runs.models import Attempt
from competitions.submissions.states import State
from tests.integration.workers.harness import Bench, make_worker
from tests.integration.workers.site import ANSWER, SmallSite, WorkerProcess, ended
from tests.integration.workers.test_worker_and_site import Start, site, start_worker
from tests.waiting import wait_for
from workers import calibration, selftest
from workers.agent.enrolment import LimitsDoNotHold, enrol
from workers.calibration import kept_calibration
from workers.cli import main
from workers.protocol.hosts import Calibration, SelfTest

__all__ = ["site", "start_worker"]  # fixtures

WRITES = """
import os
for n in range(3):
    with open('/app/output/x', 'wb') as f:
        f.write(os.urandom(2 << 20))
        os.fsync(f.fileno())
    os.remove('/app/output/x')
open('/app/output/answer.txt', 'w').write('0.25')
print('cores', sorted(os.sched_getaffinity(0)))
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runtime_image")
def test_a_worker_shows_its_limits_and_its_calibration_when_it_registers(
    site: SmallSite,
    start_worker: Start,
    settings: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.REQUIRE_SELF_TEST = True
    monkeypatch.setattr(calibration, "ROUNDS", 1)
    for load, smaller in (("4_000_000", "400_000"), ("range(256)", "range(16)"), ("256 << 20", "16 << 20")):
        assert load in calibration.CPU_LOADS
        monkeypatch.setattr(calibration, "CPU_LOADS", calibration.CPU_LOADS.replace(load, smaller))
    data_dir = tmp_path / f"w1-{site.queue.name}"
    assert kept_calibration(data_dir) == Calibration()
    assert main(["calibrate", "--data-dir", str(data_dir), "--gpus", "none"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert kept_calibration(data_dir).model_dump(mode="json", exclude_unset=True) == printed
    start_worker(options=("--self-test", "once"))
    worker = ComputeWorker.objects.get()
    assert worker.self_test["fails"] == []
    assert "no network" in worker.self_test["holds"]
    assert len(worker.self_test["holds"]) == len(selftest.PROBES) == 15
    assert worker.calibration["cpu"] == printed["cpu"]
    assert set(printed["cpu"]) == {"interpreter_s", "digest_s", "copy_s", "everywhere_s"}
    assert all(0 < seconds < 60 for seconds in printed["cpu"].values())
    assert ended(site.submit())[0].state == State.FINISHED


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runtime_image")
def test_a_site_that_asks_for_the_self_test_gives_others_nothing(
    site: SmallSite, start_worker: Start, settings: Any
) -> None:
    settings.REQUIRE_SELF_TEST = True
    worker = start_worker()
    run = site.submit()[0]
    wait_for(lambda: "--self-test once" in worker.text(), 120, "the worker says why it gets nothing")
    run.refresh_from_db()
    assert run.state == State.QUEUED


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runtime_image")
def test_scoring_is_kept_on_workers_that_never_run_participants_code(site: SmallSite, start_worker: Start) -> None:
    site.queue.separate_scoring = True
    site.queue.save()
    ingests: WorkerProcess = start_worker("w1", options=("--role", "ingestion"))
    scores: WorkerProcess = start_worker("w2", options=("--role", "scoring"))
    run = ended(site.submit("print('hello')\n" + ANSWER))[0]
    assert (run.state, run.scores, run.attempt, run.faults) == (State.FINISHED, {"score": 0.25}, 2, 0)
    workers = list(Attempt.objects.filter(run=run).order_by("attempt").values_list("worker__role", flat=True))
    assert workers == ["ingestion", "scoring"]
    assert [stage["name"] for stage in run.receipt["ingestion"]["stages"]] == ["ingestion"]
    assert [stage["name"] for stage in run.receipt["stages"]] == ["scoring"]
    assert run.meters["wall_s"] == run.receipt["ingestion"]["stages"][0]["wall_s"], "the budget is the ingestion's"
    assert site.task.reference_data is not None
    labels, program = site.task.reference_data.file_id, run.submission.file_id
    assert kept_by(ingests, labels) == []
    assert kept_by(scores, labels)
    assert kept_by(ingests, program)
    assert kept_by(scores, program) == [], "a scoring worker never even fetches participants' code"


def kept_by(worker: WorkerProcess, sha256: str) -> list[Path]:
    """The worker's cached copies of a file."""
    return list((worker.data_dir / "cache").glob(f"*/{sha256}-*"))


def test_a_host_whose_limits_do_not_hold_does_not_register(
    tmp_path: Path, runtime_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = make_worker(tmp_path / "data", runtime_image)
    broken = selftest.Probe("gravity", "print('nothing')", lambda seen: False)
    monkeypatch.setattr(selftest, "PROBES", (broken,))
    with pytest.raises(LimitsDoNotHold, match="gravity"):
        enrol(worker, when="once", image=runtime_image)
    fine = selftest.Probe("gravity", "print('nothing')", lambda seen: "nothing" in seen.log)
    monkeypatch.setattr(selftest, "PROBES", (fine,))
    assert enrol(worker, when="once", image=runtime_image).holds == ("gravity",), "a failure is tried again"
    monkeypatch.setattr(selftest, "PROBES", (broken,))
    assert enrol(worker, when="once", image=runtime_image).holds == ("gravity",), "the same host is not tried twice"
    assert enrol(worker, when="never", image=runtime_image) == SelfTest()
    assert enrol(worker, when="always", image="none:such") == SelfTest()


def test_a_host_whose_gpu_toolkit_obeys_images_does_not_register(
    tmp_path: Path, runtime_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = make_worker(tmp_path / "data", runtime_image)
    monkeypatch.setattr(selftest, "PROBES", ())
    for version, is_refused in (("1.17.7", True), ("1.16.10", True), ("1.17.8", False), ("1.18.0", False), ("", False)):
        worker.host = worker.host.model_copy(update={"gpu_toolkit": version})
        if is_refused:
            with pytest.raises(LimitsDoNotHold, match=f"NVIDIA container toolkit {version}, older than 1.17.8"):
                enrol(worker, when="once", image=runtime_image)
        else:
            enrol(worker, when="once", image=runtime_image)


def test_bytes_written_count_what_was_overwritten_and_deleted(bench: Bench) -> None:
    outcome = bench.run(bench.code_job(WRITES))
    record = outcome.result["stages"][0]
    assert 6 << 20 <= record["bytes_written"] < 8 << 20
    assert record["output_bytes"] == 4


def test_a_slots_cores_are_the_only_ones_that_its_container_has(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from workers.agent.runs.state import RunFolder

    create: Callable[..., None] = RunFolder.create
    monkeypatch.setattr(RunFolder, "create", lambda folder, job, **more: create(folder, job, **more, cores=(1,)))
    assert "cores [1]" in bench.run(bench.code_job(WRITES)).log

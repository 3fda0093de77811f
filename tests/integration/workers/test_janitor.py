"""The janitor removes what no lease stands behind, and nothing else, whatever happens while it sweeps."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping

import pytest
from structlog.testing import capture_logs

from tests.integration.workers.harness import Bench
from workers.agent.context import LABEL_WORKER
from workers.agent.host.cache import StagingCache
from workers.agent.host.janitor import sweep
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.handling import HeldRuns
from workers.agent.runs.state import lease_key
from workers.engines.docker.client import DockerEngine

PROGRAM = "open('/app/output/answer.txt', 'w').write('0.5')"


def test_a_run_that_is_claimed_during_a_sweep_is_left_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldRuns()
    job = bench.code_job(PROGRAM)
    claimed: list[RunExecution] = []
    listed = DockerEngine.list

    def claim_meanwhile(engine: DockerEngine, labels: Mapping[str, str]) -> Collection[str]:
        if not claimed:
            held.add(lease_key(job["lease_id"]), print)
            claimed.append(bench.prepared(job))
        return listed(engine, labels)

    monkeypatch.setattr(DockerEngine, "list", claim_meanwhile)
    assert sweep(bench.worker, held.snapshot) == 0
    assert bench.see_through(claimed[0]).result["scores"] == {"score": 0.5}


def test_what_no_lease_stands_behind_is_removed(bench: Bench) -> None:
    held = HeldRuns()
    execution = bench.prepared(bench.code_job(PROGRAM))
    held.add(execution.folder.lease, print)
    assert sweep(bench.worker, held.snapshot) == 0
    held.drop(execution.folder.lease)
    assert sweep(bench.worker, held.snapshot) > 0
    assert bench.worker.engine.list({LABEL_WORKER: bench.worker.key}) == []
    bench.assert_nothing_left()


def test_a_run_that_ends_during_a_sweep_keeps_no_leftover_from_being_removed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    doomed, ending = [bench.prepared(bench.code_job(PROGRAM)) for _ in range(2)]
    held = HeldRuns()
    held.add(ending.folder.lease, print)
    listed = DockerEngine.list

    def end_meanwhile(engine: DockerEngine, labels: Mapping[str, str]) -> Collection[str]:
        containers = listed(engine, labels)
        own = [each for each in containers if engine.observe(each).labels["podium.lease"] == ending.folder.lease]
        ending.destroy()
        return [*own, *(each for each in containers if each not in own)]

    monkeypatch.setattr(DockerEngine, "list", end_meanwhile)
    sweep(bench.worker, held.snapshot)
    monkeypatch.undo()
    assert bench.worker.engine.list({LABEL_WORKER: bench.worker.key}) == []
    doomed.destroy()  # what it holds of the cache
    bench.assert_nothing_left()


def test_a_disk_that_cannot_be_written_to_ends_no_sweep_and_no_worker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(cache: StagingCache) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(StagingCache, "trim", read_only)
    with capture_logs() as lines:
        sweep(bench.worker, HeldRuns().snapshot)
    stopped = [line["detail"] for line in lines if line["event"] == "janitor_stopped"]
    assert len(stopped) == 1
    assert "Read-only file system" in stopped[0]


def test_what_a_run_cannot_remove_gives_its_cache_back_and_is_the_janitors(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_use = dict(bench.worker.cache._in_use)
    execution = bench.prepared(bench.code_job(PROGRAM))

    def no_memory(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    with monkeypatch.context() as patched:
        patched.setattr("workers.sandbox.output_volume.subprocess.run", no_memory)
        execution.destroy()
    assert bench.worker.cache._in_use == in_use
    assert sweep(bench.worker, HeldRuns().snapshot) > 0
    bench.assert_nothing_left()

"""A container that the kernel does not end: its run goes elsewhere, its slot waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.unit.workers.restarts import PATIENCE_S, WALL_S, Restarts, within
from tests.unit.workers.sandbox.test_engine import RUNNING, Api, engine_with, timed_out
from workers.agent.host.janitor import sweep
from workers.agent.host.lanes import Lane
from workers.agent.runs.state import lease_key
from workers.errors import SandboxError


@pytest.fixture
def restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Restarts]:
    """A worker with a run beyond its limit, whose container no kill ends."""
    monkeypatch.setattr("workers.sandbox.watch.NOT_KILLED_S", 0.1)
    with closing(Restarts(tmp_path)) as folder:
        folder.leave(folder.job("r1")).started("ingestion", ago_s=WALL_S)
        folder.engine.kill_works = False
        yield folder


def test_a_container_that_cannot_be_killed_is_a_fault_of_its_host_and_keeps_its_slot_out_of_service(
    restarts: Restarts,
) -> None:
    service = restarts.service()
    with capture_logs() as lines:
        process = threading.Thread(target=service.run)
        process.start()
        within(lambda: restarts.site.results, "the run is given up")
        service._wakeups.wake()
        within(lambda: restarts.site.claims and restarts.site.claims[-1].free_slots == 0, "the slot takes no work")
    result = restarts.site.results["r1"]
    assert (result.reason, result.code) == ("infrastructure", "not_killable")
    assert [line["log_level"] for line in lines if line["event"] == "container_not_killable"] == ["error"]
    assert [fault.slot for fault in restarts.site.claims[-1].slot_faults] == [0]

    within(lambda: not service._held.snapshot(), "the janitor may remove what the run has left")
    restarts.engine.kill_works = True
    sweep(service._worker, service._held.snapshot)
    restarts.site.claims.clear()
    service._wakeups.wake()
    within(lambda: restarts.site.claims and restarts.site.claims[-1].free_slots == 1, "the slot is in service again")
    assert restarts.site.claims[-1].slot_faults == ()
    service.stop()
    process.join(PATIENCE_S)


def test_a_run_that_was_claimed_before_does_not_begin_beside_a_container_that_cannot_be_killed(
    restarts: Restarts,
) -> None:
    service = restarts.service()
    claimer: Any = SimpleNamespace(next_job=lambda slot: restarts.job("r2"))
    lane = Lane(service._slots[0], claimer, service._held, 0)
    service._slots[0].take_out(lease_key("r1"))
    assert lane._prepare_next() is None
    assert restarts.site.released == ["r2"]
    restarts.engine.kill_works = True
    sweep(service._worker, service._held.snapshot)
    handling = lane._prepare_next()
    assert handling is not None
    handling.give_turn()
    handling.release()


@pytest.mark.parametrize("code", ["engine_error", "engine_unreachable"])
def test_a_container_that_cannot_be_removed_keeps_no_other_from_being_removed(restarts: Restarts, code: str) -> None:
    restarts.engine.removal_error = SandboxError(code, "removing the container: could not kill it in time")
    worker = restarts.worker()
    restarts.leave(restarts.job("r2"))
    assert len(restarts.engine.list({})) == 4
    sweep(worker, frozenset)
    assert len(restarts.engine.list({})) == 1, "the one that runs"


def test_a_wait_ends_when_it_is_given_up() -> None:
    api = Api(RUNNING, timed_out, timed_out)
    engine_with(api).wait("c", lambda: len(api.waits) == 0)
    assert api.waits == []

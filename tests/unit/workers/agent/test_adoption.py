"""A restarted worker goes on with every run that the process before it left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.unit.workers.restarts import PATIENCE_S, WALL_S, Restarts, within
from workers.agent.runs.handling import RunHandling
from workers.agent.runs.state import RunFolder
from workers.agent.service import Service
from workers.engines.images import ImageFacts
from workers.protocol.jobs import PullPolicy
from workers.sandbox.output_volume import remove_tree
from workers.sandbox.stage import CLOCK_DISAGREES_S


@pytest.fixture
def restarts(tmp_path: Path) -> Iterator[Restarts]:
    """A data folder that worker processes use one after the other."""
    with closing(Restarts(tmp_path)) as folder:
        yield folder


def begin(service: Service) -> None:
    """Go on with the runs that were left, and reach the site."""
    service._adopt_all()
    service._register()


def test_the_files_of_a_run_that_is_not_adopted_yet_stay_in_a_cache_over_its_cap(
    restarts: Restarts, tmp_path: Path
) -> None:
    restarts.cache_bytes = 1
    run = restarts.leave(restarts.job("r1")).started("ingestion")
    service = restarts.service()
    may_fetch = threading.Event()
    restarts.site.on_heartbeat = may_fetch.wait
    begin(service)
    service._sweep()
    assert list(tmp_path.rglob("cache/open/*/tree/main.py")), "the container reads it"
    may_fetch.set()
    within(lambda: not service._held.any_adopting, "the run is adopted")
    service._sweep()
    assert list(tmp_path.rglob("cache/open/*/tree/main.py")), "the run has acquired it again"
    run.ended("ingestion")
    within(lambda: restarts.engine.observe(run.container("scoring")).started_at, "the scoring program runs")
    run.ended("scoring")
    within(lambda: not service._held.snapshot(), "the run is over")
    service._sweep()
    assert not list(tmp_path.rglob("cache/open/*/tree/main.py"))
    assert restarts.site.results["r1"].scores == {"mae": 0.5}


def test_a_result_that_is_left_to_be_sent_keeps_no_file_in_the_cache(restarts: Restarts, tmp_path: Path) -> None:
    restarts.cache_bytes = 1
    run = restarts.leave(restarts.job("r1"))
    run.execution.folder.save_result(run.execution.result({}), {})
    run.execution.folder.set_phase("executed")
    may_answer = threading.Event()
    restarts.site.on_complete = may_answer.wait
    service = restarts.service()
    begin(service)
    service._sweep()
    assert not list(tmp_path.rglob("cache/open/*/tree/main.py"))
    may_answer.set()
    within(lambda: not service._held.snapshot(), "the run is over")


def test_a_run_that_was_packing_its_output_and_the_next_one_of_its_slot_both_go_on(restarts: Restarts) -> None:
    packing = restarts.leave(restarts.job("r1")).started("ingestion").ended("ingestion")
    packing.started("scoring").ended("scoring")
    executing = restarts.leave(restarts.job("r2")).started("ingestion")
    begin(restarts.service())
    within(lambda: "r1" in restarts.site.results, "its result does not wait for the other run")
    executing.ended("ingestion")
    within(lambda: restarts.engine.observe(executing.container("scoring")).started_at, "the scoring program runs")
    executing.ended("scoring")
    within(lambda: "r2" in restarts.site.results, "the run ends")
    assert {run: result.outcome for run, result in restarts.site.results.items()} == {
        "r1": "finished",
        "r2": "finished",
    }


def test_a_run_between_two_stages_starts_none_before_its_slot_is_free(restarts: Restarts) -> None:
    between = restarts.leave(restarts.job("r1")).started("ingestion").ended("ingestion")
    executing = restarts.leave(restarts.job("r2")).started("ingestion").ended("ingestion").started("scoring")
    service = restarts.service()
    begin(service)
    within(lambda: not service._held.any_adopting, "both are adopted")
    assert restarts.engine.observe(between.container("scoring")).never_started
    executing.ended("scoring")
    within(lambda: not restarts.engine.observe(between.container("scoring")).never_started, "the slot is free")
    between.ended("scoring")
    within(lambda: len(restarts.site.results) == 2, "both end")
    assert {result.outcome for result in restarts.site.results.values()} == {"finished"}


def test_runs_without_a_gpu_keep_the_slots_that_they_were_claimed_for(restarts: Restarts) -> None:
    restarts.slots = 2
    for run_id, slot in (("r1", 0), ("r2", 1)):
        restarts.leave(restarts.job(run_id), slot=slot).started("ingestion")
    service = restarts.service("GPU-0")
    begin(service)
    within(lambda: not service._held.any_adopting, "both are adopted")
    assert restarts.site.results == {}, "neither was given up"
    assert [slot.turn.try_take() for slot in service._slots] == [False, False]


def test_a_run_without_a_gpu_gives_way_to_the_one_that_has_its_slots_gpu(restarts: Restarts) -> None:
    restarts.slots = 2
    restarts.leave(restarts.job("r1"), slot=0).started("ingestion")
    restarts.leave(restarts.job("r2"), slot=1, gpu_uuid="GPU-0").started(
        "ingestion"
    )  # of a worker whose GPUs were listed otherwise
    service = restarts.service("GPU-0")
    begin(service)
    within(lambda: not service._held.any_adopting, "both are adopted")
    assert restarts.site.results == {}, "neither was given up"


def test_two_runs_that_run_in_one_slot_are_not_both_taken(restarts: Restarts) -> None:
    for run_id in ("r1", "r2"):
        restarts.leave(restarts.job(run_id)).started("ingestion")
    begin(restarts.service())
    within(lambda: restarts.site.results, "the second is given up")
    assert {run: result.code for run, result in restarts.site.results.items()} == {"r2": "adoption_failed"}


def test_a_run_that_was_claimed_ahead_is_handed_back(restarts: Restarts) -> None:
    restarts.leave(restarts.job("r1"))
    begin(restarts.service())
    within(lambda: restarts.site.released == ["r1"], "it is handed back")


@pytest.mark.parametrize("step", ["release", "adopt"])
def test_an_adoption_that_fails_in_an_unknown_way_holds_neither_lease_nor_slot(
    restarts: Restarts, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(_: RunHandling) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(RunHandling, step, fail)
    run = restarts.leave(restarts.job("r1"))
    if step == "adopt":
        run.started("ingestion")
    service = restarts.service()
    begin(service)
    within(lambda: not service._held.snapshot(), "the run is given up")
    assert restarts.site.results["r1"].code == "adoption_failed"
    assert restarts.engine.list({}) == []
    within(service._slots[0].turn.try_take, "the slot is free")


@pytest.mark.parametrize("tolerant", [False, True])
def test_a_run_whose_container_vanished_before_its_start_was_written_down_is_answered_for(
    restarts: Restarts, tolerant: bool
) -> None:
    run = restarts.leave(restarts.job("r1", tolerant=tolerant))
    restarts.engine.remove(run.container("ingestion"))
    begin(restarts.service())
    within(lambda: restarts.site.results, "it is answered for")
    assert (restarts.site.results["r1"].code, restarts.site.released) == ("container_missing", [])


def test_an_adopted_run_pulls_nothing_and_its_receipt_names_the_image_that_it_runs_from(restarts: Restarts) -> None:
    run = restarts.leave(restarts.job("r1", pull=PullPolicy.ALWAYS)).started("ingestion").ended("ingestion")
    run.started("scoring").ended("scoring")
    restarts.engine.pulls.clear()
    restarts.engine.image = ImageFacts(digest="sha256:second")
    begin(restarts.service())
    within(lambda: restarts.site.results, "it is answered for")
    result = restarts.site.results["r1"]
    assert (restarts.engine.pulls, result.outcome) == ([], "finished")
    assert [stage.image_digest for stage in result.stages] == ["sha256:first", "sha256:first"]
    assert "declares volumes (/data)" in result.notes[0]


def test_a_worker_that_stops_while_it_adopts_leaves_the_run_to_the_next_process(restarts: Restarts) -> None:
    run = restarts.leave(restarts.job("r1")).started("ingestion")
    remove_tree(restarts.folder / "cache")  # it is fetched again, which takes time
    first = restarts.service()
    restarts.site.on_download = first.stop
    begin(first)
    within(lambda: restarts.site.stopped_downloads, "it was fetching")
    time.sleep(0.2)
    assert (restarts.site.results, restarts.site.released) == ({}, [])
    assert not restarts.engine.observe(run.container("ingestion")).ended
    restarts.site.on_download = lambda: None
    second = restarts.service()
    begin(second)
    within(lambda: not second._held.any_adopting, "it is adopted")
    run.ended("ingestion")
    within(lambda: restarts.engine.observe(run.container("scoring")).started_at, "the scoring program runs")
    run.ended("scoring")
    within(lambda: restarts.site.results, "it is answered for")
    assert restarts.site.results["r1"].outcome == "finished"


@pytest.mark.parametrize(
    ("ran_s", "reason"), [(WALL_S - 5, None), (WALL_S + CLOCK_DISAGREES_S / 2, None), (WALL_S + 5, "time_limit")]
)
def test_a_program_that_ended_while_no_worker_watched_is_held_to_its_limit_by_the_engines_times(
    restarts: Restarts, ran_s: float, reason: str | None
) -> None:
    run = restarts.leave(restarts.job("r1")).started("ingestion", ago_s=300).ended("ingestion", ago_s=300 - ran_s)
    run.started("scoring").ended("scoring")
    begin(restarts.service())
    within(lambda: restarts.site.results, "it is answered for")
    assert restarts.site.results["r1"].reason == reason


def test_a_step_of_the_clock_charges_no_program_that_workers_watched_to_its_end(restarts: Restarts) -> None:
    run = restarts.leave(restarts.job("r1")).started("ingestion")
    begin(restarts.service())
    within(lambda: run.container("ingestion") in restarts.engine.waited_for, "it is watched")
    restarts.engine.set_started(run.container("ingestion"), datetime.now(UTC) - timedelta(seconds=10 * WALL_S))
    run.ended("ingestion")
    within(lambda: restarts.engine.observe(run.container("scoring")).started_at, "no limit of time was reached")
    left, _ = RunFolder.load(restarts.folder / "runs", run.execution.folder.lease)
    run.ended("scoring")
    within(lambda: restarts.site.results, "it is answered for")
    assert restarts.site.results["r1"].outcome == "finished"
    watched_s = left.stage_facts("ingestion").watched_s
    assert watched_s is not None
    assert watched_s < PATIENCE_S


def test_a_step_of_the_clock_charges_no_program_that_a_predecessor_watched_to_its_end(restarts: Restarts) -> None:
    run = restarts.leave(restarts.job("r1")).started("ingestion", ago_s=10 * WALL_S).ended("ingestion")
    run.execution.folder.record_end("ingestion", WALL_S / 2)
    run.started("scoring").ended("scoring")
    begin(restarts.service())
    within(lambda: restarts.site.results, "it is answered for")
    assert restarts.site.results["r1"].outcome == "finished"


def test_a_limit_of_time_holds_while_a_restarted_worker_waits_for_the_site(
    restarts: Restarts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.agent.service.REGISTER_PAUSE_S", 0.05)
    run = restarts.leave(restarts.job("r1")).started("ingestion", ago_s=WALL_S)
    packing = restarts.leave(restarts.job("r2")).started("ingestion").ended("ingestion")
    packing.started("scoring").ended("scoring")
    restarts.leave(restarts.job("r3"))
    restarts.site.away = True
    service = restarts.service()
    process = threading.Thread(target=service.run)
    process.start()
    within(lambda: restarts.engine.observe(run.container("ingestion")).ended, "it is killed at its limit")
    time.sleep(0.2)
    assert restarts.site.results == {}
    restarts.site.away = False
    within(lambda: len(restarts.site.results) == 2 and restarts.site.released, "what needs the site waits for it")
    assert [restarts.site.results[run_id].reason for run_id in ("r1", "r2")] == ["time_limit", None]
    service.stop()
    process.join(PATIENCE_S)
    assert not process.is_alive()


@pytest.mark.parametrize(("is_signalled", "verdict"), [(True, "killed_from_outside"), (False, "out_of_memory")])
def test_a_container_that_somebody_killed_is_the_hosts_also_where_memory_seems_to_have_run_out(
    restarts: Restarts, is_signalled: bool, verdict: str
) -> None:
    restarts.engine.is_out_of_memory, restarts.engine.is_signalled = True, is_signalled
    restarts.leave(restarts.job("r1")).started("ingestion").ended("ingestion", exit_code=137)
    begin(restarts.service())
    within(lambda: restarts.site.results, "it is answered for")
    assert restarts.site.results["r1"].code == verdict


def test_a_worker_that_stops_gives_back_what_the_site_leased_to_its_last_claim(restarts: Restarts) -> None:
    claims, answers = threading.Event(), threading.Event()

    def keep_waiting() -> None:
        claims.set()
        assert answers.wait(PATIENCE_S)

    restarts.site.jobs, restarts.site.on_claim = [restarts.job("r1")], keep_waiting
    service = restarts.service()
    process = threading.Thread(target=service.run)
    process.start()
    assert claims.wait(PATIENCE_S)
    service.stop()
    process.join(0.5)
    assert process.is_alive(), "it waits for the answer"
    answers.set()
    process.join(PATIENCE_S)
    assert not process.is_alive()
    assert restarts.site.released == ["r1"]

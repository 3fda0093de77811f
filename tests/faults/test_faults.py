"""A stream of submissions while parts of the site are killed, cut off, frozen and filled up.

After each fault every submission has its own right score once, nothing is left on engine and hosts, nobody is blamed or charged.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.faults.cluster import HEARTBEAT_S, LEASE_S, RECONCILE_S, Cluster, trials
from tests.faults.conftest import TABLE, Row
from tests.faults.parts import WorkerHost
from tests.soak import in_soak, mostly_in_soak
from tests.waiting import wait_for

Runs = dict[uuid.UUID, float]
HELD = ("leased", "preparing", "ingesting", "scoring")


@pytest.fixture(autouse=True)
def _whole(cluster: Cluster) -> Iterator[None]:
    """Each fault meets a site that works, and leaves one."""
    cluster.whole()
    yield
    cluster.whole()


class Trial:
    """One fault on one batch: `hit` marks its moment."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.hit_at = time.monotonic()

    def hit(self) -> None:
        """The fault happens now."""
        self.hit_at = time.monotonic()


@contextmanager
def trial(cluster: Cluster, name: str, *, count: int = 3, seconds: float = 1.2) -> Iterator[Trial]:
    """Submit, let the block do its harm, see everything through, and judge."""
    experiment = Trial(cluster.submit(count, seconds=seconds))
    yield experiment
    cluster.see_through(experiment.runs)
    verdict = cluster.verdict(experiment.runs)
    TABLE.setdefault(name, Row()).add(verdict, time.monotonic() - experiment.hit_at)
    assert verdict.is_good, verdict
    cluster.assert_clean()


def unanswered(runs: Runs) -> list[str]:
    """The ends of the attempts that no worker answered for."""
    from competitions.runs.models import Attempt

    return list(Attempt.objects.filter(run__in=runs, is_answered=False).values_list("detail", flat=True))


def attempts(cluster: Cluster, run: uuid.UUID) -> int:
    return cluster.verdict({run: 0.0}).attempts[run]


repeated = pytest.mark.parametrize("number", range(trials()))


@repeated
@pytest.mark.parametrize("state", mostly_in_soak(["leased", "ingesting", "scoring"], always=["ingesting"]))
def test_a_killed_worker_process_goes_on_where_it_was(cluster: Cluster, state: str, number: int) -> None:
    with trial(cluster, f"worker killed while {state}, started again") as experiment:
        run, host = cluster.holder(experiment.runs, state)
        host.kill()
        experiment.hit()
        host.start()
    if state != "leased":  # then its containers may not have been written down yet, and the lease runs out
        assert attempts(cluster, run) == 1, "no container was started twice"


@repeated
def test_a_worker_killed_while_it_reports_sends_the_same_answer(cluster: Cluster, number: int) -> None:
    with trial(cluster, "worker killed while it reports, started again") as experiment:
        host = wait_for(
            lambda: next((h for h in cluster.hosts if "executed" in h.phases()), None), 30, "a result", 0.002
        )
        host.kill()
        experiment.hit()
        host.start()


@repeated
def test_a_dead_hosts_runs_are_queued_again_within_lease_and_reaper(cluster: Cluster, number: int) -> None:
    with trial(cluster, "worker's host dead, its runs go elsewhere", count=2, seconds=2.5) as experiment:
        run, host = cluster.holder(experiment.runs, "ingesting")
        host.kill()
        experiment.hit()
        wait_for(lambda: attempts(cluster, run) == 2, LEASE_S + HEARTBEAT_S + 4 * RECONCILE_S + 5, "a second attempt")
        cluster.see_through(experiment.runs)
        host.start()  # the dead host comes back, with the containers of its first life


@repeated
def test_a_child_of_the_worker_that_is_killed_costs_an_attempt_of_ours(cluster: Cluster, number: int) -> None:
    for host in cluster.hosts:
        host.mkfs_flag.touch()
    with trial(cluster, "child process of the worker killed"):
        pass
    assert not any(host.mkfs_flag.exists() for host in cluster.hosts)


@repeated
@pytest.mark.parametrize("stage", mostly_in_soak(["ingestion", "scoring"], always=["scoring"]))
def test_a_container_that_somebody_kills_is_nobodys_failure(cluster: Cluster, stage: str, number: int) -> None:
    with trial(cluster, f"container killed in the stage {stage}", count=2, seconds=2.5) as experiment:
        cluster.kill_container(experiment.runs, stage)
        experiment.hit()
    assert sorted(cluster.verdict(experiment.runs).attempts.values()) == [1, 2]


@repeated
def test_the_container_engine_is_killed_and_comes_back(cluster: Cluster, number: int) -> None:
    with trial(cluster, "Docker daemon killed, started again", seconds=2.5) as experiment:
        cluster.holder(experiment.runs, "ingesting")
        cluster.engine.kill()
        experiment.hit()
        cluster.engine.start()


@repeated
def test_the_broker_stops_and_comes_back_empty(cluster: Cluster, number: int) -> None:
    with trial(cluster, "Redis killed for 3 s, back empty") as experiment:
        cluster.holder(experiment.runs, *HELD)
        cluster.broker.kill()
        experiment.hit()
        experiment.runs |= cluster.submit(2)  # nobody is woken for these
        time.sleep(3)
        cluster.broker.start()


@repeated
def test_wake_up_messages_are_lost_repeated_and_out_of_order(cluster: Cluster, number: int) -> None:
    from competitions.compute.wakeups import wake

    with trial(cluster, "wake-up messages repeated 100 times") as experiment:
        experiment.hit()
        for _ in range(100):
            wake(cluster.queue.wakeup_queue)


@repeated
def test_the_web_server_is_killed(cluster: Cluster, number: int) -> None:
    with trial(cluster, "web processes killed, started after 2 s") as experiment:
        cluster.holder(experiment.runs, *HELD)
        cluster.web.kill()
        experiment.hit()
        time.sleep(2)
        cluster.start_web()


@repeated
@pytest.mark.parametrize("away_s", [pytest.param(0, marks=in_soak), LEASE_S + 4])
def test_the_database_crashes_and_recovers(cluster: Cluster, away_s: int, number: int) -> None:
    with trial(cluster, f"PostgreSQL killed, back after {away_s} s", seconds=2.5) as experiment:
        run, _ = cluster.holder(experiment.runs, "ingesting")
        cluster.database.kill()
        experiment.hit()
        time.sleep(away_s)
        cluster.database.start()
    assert attempts(cluster, run) == 1, "nobody's lease runs out while the site itself is away"


@repeated
def test_the_reconciler_is_killed(cluster: Cluster, number: int) -> None:
    with trial(cluster, "reconciler killed, started after 2 s") as experiment:
        cluster.holder(experiment.runs, *HELD)
        cluster.reconciler.kill()
        experiment.hit()
        time.sleep(2)
        cluster.reconciler.start()


NO_ROOM_FOR_AN_OUTPUT = "size=1m"
NO_ROOM_FOR_A_FOLDER = "nr_inodes=1"
ROOM_UNTIL_IT_IS_FILLED = "size=32m"


@contextmanager
def full_disk(host: WorkerHost, room: str = NO_ROOM_FOR_AN_OUTPUT) -> Iterator[None]:
    """The worker's folder has little or nothing left: a small file system is laid over its runs."""
    runs = str(host.data_dir / "runs")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{room},mode=0700", "tmpfs", runs], check=True)
    try:
        yield
    finally:
        wait_for(lambda: not list((host.data_dir / "runs").iterdir()), 120, "the full disk is left", 0.1)
        subprocess.run(["umount", "--lazy", runs], check=True)


@repeated
@pytest.mark.parametrize("room", [NO_ROOM_FOR_AN_OUTPUT, pytest.param(NO_ROOM_FOR_A_FOLDER, marks=in_soak)])
def test_a_workers_full_disk_sends_its_runs_elsewhere(cluster: Cluster, room: str, number: int) -> None:
    sick = cluster.hosts[0]
    with full_disk(sick, room), trial(cluster, "worker's disk full", count=4) as experiment:
        experiment.hit()
        cluster.see_through(experiment.runs)
    assert unanswered(experiment.runs) == [], "each failure was reported at once: no lease had to run out"


@repeated
def test_a_disk_that_fills_while_a_program_runs_is_reported_at_once(cluster: Cluster, number: int) -> None:
    sick, well = cluster.hosts
    well.kill()
    with (
        full_disk(sick, ROOM_UNTIL_IT_IS_FILLED),
        trial(cluster, "worker's disk fills", count=1, seconds=2.5) as experiment,
    ):
        cluster.holder(experiment.runs, "ingesting")
        experiment.hit()
        (folder,) = (sick.data_dir / "runs").iterdir()
        with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(1 << 12)):
                pass
        well.start()
        cluster.see_through(experiment.runs)
    assert unanswered(experiment.runs) == [], (
        "reported at once, as a result where what the run gave back was room enough"
    )


@repeated
def test_uploads_of_results_break_off(cluster: Cluster, number: int) -> None:
    for proxy in cluster.proxies:
        proxy.mode, proxy.cuts = "cut", 3
    with trial(cluster, "uploads of results cut in the middle") as experiment:
        experiment.hit()
    assert any(proxy.cuts < 3 for proxy in cluster.proxies)


@repeated
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("deaf", "every second answer of the site lost"),
        pytest.param("twice", "every request repeated", marks=in_soak),
        ("late", "every request repeated late, out of order"),
    ],
)
def test_traffic_between_worker_and_site_is_lost_repeated_and_reordered(
    cluster: Cluster, mode: str, name: str, number: int
) -> None:
    for proxy in cluster.proxies:
        proxy.mode = mode
    with trial(cluster, name) as experiment:
        experiment.hit()


@repeated
@pytest.mark.parametrize("seconds", [pytest.param(3, marks=in_soak), LEASE_S + 4])
def test_the_network_between_worker_and_site_is_away(cluster: Cluster, seconds: int, number: int) -> None:
    with trial(cluster, f"network of one worker away for {seconds} s", count=2, seconds=2.5) as experiment:
        run, host = cluster.holder(experiment.runs, "ingesting")
        proxy = cluster.proxies[cluster.hosts.index(host)]
        proxy.mode = "down"
        experiment.hit()
        time.sleep(seconds)
        proxy.mode = ""
    assert attempts(cluster, run) == (1 if seconds < LEASE_S else 2)


@repeated
def test_a_worker_frozen_past_its_lease_answers_late_and_changes_nothing(cluster: Cluster, number: int) -> None:
    with trial(cluster, "worker frozen past its lease", count=2, seconds=2.5) as experiment:
        run, host = cluster.holder(experiment.runs, "ingesting")
        host.freeze()
        experiment.hit()
        wait_for(lambda: attempts(cluster, run) == 2, LEASE_S + 8, "a second attempt")
        time.sleep(1)
        host.thaw()
    assert attempts(cluster, run) == 2


@repeated
@pytest.mark.parametrize("hours", [1.0, pytest.param(-1.0, marks=in_soak)])
def test_a_workers_clock_is_off_by_an_hour(cluster: Cluster, hours: float, number: int) -> None:
    for host in cluster.hosts:
        os.kill(host.part.pid, signal.SIGTERM)
        host.part.process.wait(20)  # type: ignore[union-attr]  # it was started
        host.start(clock_hours=hours)
    try:
        with trial(cluster, f"clocks of the workers {hours:+g} h", count=2) as experiment:
            experiment.hit()
            run, host = cluster.holder(experiment.runs, "ingesting")
            host.kill()  # a successor by the right clock takes over
            host.start()
        assert attempts(cluster, run) == 1
    finally:
        for host in cluster.hosts:
            host.kill()
            host.start()


@repeated
def test_sigterm_stops_claiming_at_once_and_the_next_process_sees_the_run_through(
    cluster: Cluster, number: int
) -> None:
    with trial(cluster, "worker upgraded in the middle of a run", count=2, seconds=4) as experiment:
        run, host = cluster.holder(experiment.runs, "ingesting")
        os.kill(host.part.pid, signal.SIGTERM)
        experiment.hit()
        assert host.part.process is not None
        assert host.part.process.wait(15) == 0
        assert cluster.container(run)
        host.start()
    assert attempts(cluster, run) == 1


def test_a_run_that_two_workers_were_lost_with_is_held_for_a_person(cluster: Cluster) -> None:
    from competitions.runs.models import Run
    from competitions.runs.services import submission_rerun

    runs = cluster.submit(1, seconds=3)
    run_id, first = cluster.holder(runs, "ingesting")
    first.kill()
    wait_for(lambda: attempts(cluster, run_id) == 2, 120, "a second attempt")
    _, second = cluster.holder(runs, "ingesting")
    assert second is not first
    second.kill()
    cluster.see_through(runs, 30)
    run = Run.objects.select_related("submission").get(pk=run_id)
    assert (run.state, run.reason, run.code) == ("failed", "infrastructure", "run_quarantined")
    assert not run.submission.is_charged
    cluster.whole()
    from datetime import UTC, datetime

    submission_rerun(submission=run.submission, actor="test", now=datetime.now(UTC))
    cluster.see_through(runs)
    assert cluster.verdict(runs).is_good
    cluster.assert_clean()


def test_a_worker_with_faults_of_three_teams_in_a_row_is_quarantined(cluster: Cluster) -> None:
    from competitions.compute.models import ComputeWorker

    sick, well = cluster.hosts
    well.kill()
    with full_disk(sick):
        runs = (
            cluster.submit(1)
            | cluster.submit(1, team=cluster.other_team())
            | cluster.submit(1, team=cluster.other_team())
        )
        quarantined: Callable[[], bool] = (
            ComputeWorker.objects.filter(name=sick.name).exclude(quarantined_at=None).exists
        )
        wait_for(quarantined, 120, "the worker is quarantined")
        well.start()
        cluster.see_through(runs)
    verdict = cluster.verdict(runs)
    assert verdict.is_good, verdict
    cluster.assert_clean()

"""Workers that Slurm brings come, go, are killed and preempted; each run is scored once."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import MEASURED, is_soak
from tests.cluster.slurm import ClusterSite, elapsed
from tests.faults.parts import wait_for

Runs = dict[uuid.UUID, float]


@pytest.fixture(autouse=True)
def _whole(cluster: ClusterSite) -> Iterator[None]:
    """Each test begins and ends with a cluster that works, and without jobs."""
    cluster.whole()
    yield
    cluster.stop_launchers()
    cluster.slurm.empty()


def judge(cluster: ClusterSite, runs: Runs, seconds: float = 120) -> None:
    """All runs end with their own scores, once; nothing is charged; the nodes are released, and clean."""
    cluster.see_through(runs, seconds)
    verdict = cluster.verdict(runs)
    assert verdict.is_good, verdict
    began = time.monotonic()
    cluster.wait_for_no_jobs()
    MEASURED.setdefault("from the last score to no node held (idle_s 3)", f"{elapsed(began):.1f} s")
    cluster.assert_clean()


def faults(run: uuid.UUID) -> int:
    from competitions.runs.models import Run

    return Run.objects.values_list("faults", flat=True).get(pk=run)


def test_runs_bring_workers_and_nodes_are_released(cluster: ClusterSite) -> None:
    runs = cluster.submit(6, seconds=0.5)
    began = time.monotonic()
    cluster.launch()
    cluster.running_job(runs)
    MEASURED["from the launcher's start to the first program that runs"] = f"{elapsed(began):.1f} s"
    assert len(cluster.slurm.jobs()) <= 4, "no more than the maximum"
    judge(cluster, runs)

    from competitions.compute.models import ClusterJob

    wait_for(lambda: not ClusterJob.objects.exclude(state="ended").exists(), 30, "the site knows that they ended", 0.1)
    jobs = list(ClusterJob.objects.all())
    assert {job.end_reason for job in jobs} <= {"completed", "cancelled"}
    assert all(job.ended_at and job.started_at for job in jobs if job.end_reason == "completed")


@pytest.mark.parametrize("end", ["cancelled", "preempted"])
def test_a_run_goes_on_elsewhere_when_slurm_takes_its_node(cluster: ClusterSite, end: str) -> None:
    runs = cluster.submit(1, seconds=5)
    cluster.launch()
    run, job = cluster.running_job(runs)
    if end == "cancelled":
        cluster.slurm.call("scancel", job)
    else:
        node = cluster.slurm.job_node(job)
        cluster.slurm.submit("sleep 2", "--partition=urgent", f"--nodelist={node}", "--exclusive", "--time=1")
    judge(cluster, runs)
    assert cluster.verdict(runs).attempts[run] == 2
    assert faults(run) == 0, "the cluster's decision is no fault"
    word = {"cancelled": "cancelled in the cluster", "preempted": "preempted by another job"}[end]
    notes = wait_for(
        lambda: [note for note in cluster.notes(run) if f"job {job} ended: {word}" in note],
        30,
        lambda: f"the history says how the job ended: {cluster.notes(run)}",
        0.1,
    )
    assert notes[0].startswith(f"The cluster's job {job} ended")


def test_a_job_at_its_limit_and_a_killed_node_cost_an_attempt_each(cluster: ClusterSite) -> None:
    cluster.configure(more="cpus = 4")  # so a job has a node to itself
    runs = cluster.submit(2, seconds=55)  # Slurm looks at its limits every half minute
    cluster.launch()
    jobs = wait_for(lambda: cluster.held_jobs(runs, 2), 60, lambda: cluster.described(runs), 0.1)
    (limited, at_limit), (lost, on_node) = jobs.items()
    node = cluster.slurm.job_node(on_node)
    assert node != cluster.slurm.job_node(at_limit)
    cluster.slurm.call("scontrol", "update", f"JobId={at_limit}", "EndTime=now+2")
    cluster.slurm.kill_node(node)
    cluster.slurm.nodes[node].start()
    wait_for(lambda: set(cluster.verdict(runs).attempts.values()) == {2}, 90, lambda: cluster.described(runs), 0.2)
    assert faults(limited) == 0, "the cluster's decision"
    assert faults(lost) == 1, "a worker that was lost"
    wait_for(
        lambda: any("at its time limit" in note for note in cluster.notes(limited)), 60, "the reason is known", 0.2
    )
    judge(cluster, runs)


def test_launchers_that_are_killed_or_started_twice_start_no_job_twice(cluster: ClusterSite) -> None:
    runs = cluster.submit(4, seconds=6)
    seen: set[str] = set()
    for _ in range(3):
        first, second = cluster.launch(), cluster.launch()
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            names = list(cluster.slurm.jobs("RUNNING", "COMPLETING").values())
            assert len(names) == len(set(names)) <= 4, names
            seen |= set(names)
            time.sleep(0.1)
        first.kill()
        second.kill()
    cluster.launch()
    judge(cluster, runs)
    assert len(seen) <= 4


def test_a_cluster_that_is_away_for_a_while_and_a_site_that_is_away_cost_nothing(cluster: ClusterSite) -> None:
    runs = cluster.submit(2, seconds=4)
    cluster.launch()
    cluster.running_job(runs)
    cluster.slurm.stop_controller()
    runs |= cluster.submit(2, seconds=0.5)

    def told() -> bool:
        cluster.launcher_row.refresh_from_db()
        return any("Slurm does not answer" in problem["detail"] for problem in cluster.launcher_row.problems)

    wait_for(told, 60, lambda: f"the page says so; {cluster.described(runs)}", 0.2)
    cluster.slurm.controller.start()
    cluster.proxies[0].mode = "down"
    time.sleep(4)
    cluster.proxies[0].mode = ""
    judge(cluster, runs)
    assert sum(attempt == 1 for attempt in cluster.verdict(runs).attempts.values()) >= 2


@pytest.mark.parametrize(
    ("more", "setting", "words"),
    [
        ('partition = "nowhere"', "partition", "invalid partition specified: nowhere"),
        ('gres = "gpu:h100:1"', "gres", "node configuration is not available"),
        ('constraint = "fast"', "constraint", "feature specification"),
        ('options = ["--no-such-option"]', "options", "unrecognized option"),
        ('account = "short"', "max_time_min", "has cut job"),  # the cluster's policy shortens these
    ],
)
def test_what_slurm_refuses_is_on_the_queues_page_with_the_setting_to_change(
    cluster: ClusterSite, more: str, setting: str, words: str
) -> None:
    cluster.configure(more=more if setting == "partition" else f"{more}\nminimum = 1")  # one without a run that waits
    if setting == "partition":
        text = (cluster.folder / "launcher.toml").read_text().replace('partition = "batch"\n', "")
        (cluster.folder / "launcher.toml").write_text(text)
    goes_on = setting == "partition"
    runs = cluster.submit(1, seconds=0.2) if goes_on else {}
    cluster.launch()

    def told() -> list[dict[str, str]]:
        cluster.launcher_row.refresh_from_db()
        return [problem for problem in cluster.launcher_row.problems if words in problem["detail"]]

    problem = wait_for(told, 60, lambda: f"{cluster.launcher_row.problems}; {cluster.described(runs)}", 0.1)[0]
    assert (problem["setting"], problem["queue"], problem["kind"]) == (setting, cluster.queue.name, "cpu")
    assert words in cluster.launchers[-1].text(), "the log says so, too"
    if not goes_on:
        return
    assert set(cluster.states(runs).values()) == {"queued"}, "the run waits"
    cluster.stop_launchers()
    cluster.configure()
    cluster.launch()
    judge(cluster, runs)


SHOW = """
import json, os
from types import SimpleNamespace
from workers.agent.host.gpus import Gpu, choose_gpus
gpus = [Gpu(f"GPU-{number}", "A100", 1, "1") for number in range(2)]
chosen = choose_gpus(SimpleNamespace(devices=lambda: gpus), "auto")
print(json.dumps([gpu.uuid for gpu in chosen]))
"""


def test_two_jobs_on_one_node_never_share_a_gpu(cluster: ClusterSite) -> None:
    (cluster.folder / "show.py").write_text(SHOW)
    logs = [cluster.folder / f"gpu-{number}" for number in range(3)]
    script = f"cd {cluster.folder.parents[2]}\nPYTHONPATH=. {sys.executable} {cluster.folder}/show.py\nsleep 3"
    for number, log in enumerate(logs):
        gpus = ["--gres=gpu:1"] if number < 2 else []
        cluster.slurm.submit(script, f"--output={log}", "--nodelist=node0", "--time=1", "--mem=100", *gpus)
    wait_for(lambda: all(log.exists() and log.read_text().strip() for log in logs), 60, "the jobs say", 0.1)
    outputs = [log.read_text().strip() for log in logs]
    assert sorted(outputs[:2]) == ['["GPU-0"]', '["GPU-1"]'], outputs
    assert outputs[2] == "[]", "a job without a GPU uses none"


@pytest.mark.skipif(not is_soak(), reason="`make soak` runs it")
@pytest.mark.timeout(1200)
def test_two_hundred_runs_on_eight_slots(cluster: ClusterSite) -> None:
    cluster.configure(maximum=8)
    runs = cluster.submit(200, seconds=0.2)
    began = time.monotonic()
    cluster.launch()
    for _ in range(5):
        _, job = cluster.running_job(runs)
        cluster.slurm.call("scancel", job)
        time.sleep(5)
        assert len(cluster.slurm.jobs()) <= 8
    judge(cluster, runs, 900)
    MEASURED["200 runs on 8 slots, with five jobs cancelled"] = f"{elapsed(began):.0f} s"

"""Workers that Slurm brings come, go, are killed and preempted; each run is scored once."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.cluster.conftest import MEASURED
from tests.cluster.slurm import IDLE_S, NODES, ClusterSite, elapsed
from tests.soak import SOAKS, in_soak
from tests.waiting import wait_for

Runs = dict[uuid.UUID, float]
LONG_S = 240  # a program that the test wakes
AWAY_S = 60 if SOAKS else 4


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
    MEASURED.setdefault(f"from the last score to no node held (idle_s {IDLE_S})", f"{elapsed(began):.1f} s")
    cluster.assert_clean()


def faults(run: uuid.UUID) -> int:
    from competitions.runs.models import Run

    return Run.objects.values_list("faults", flat=True).get(pk=run)


WRONG = {  # what stands in the launcher's file: the setting that is named, and Slurm's words
    'partition = "nowhere"': ("partition", "invalid partition specified: nowhere"),
    'gres = "gpu:h100:1"': ("gres", "node configuration is not available"),
    'constraint = "fast"': ("constraint", "feature specification"),
    'options = ["--no-such-option"]': ("options", "unrecognized option"),
    'account = "nobody"': ("account", "Invalid account"),
    'account = "spent"': ("account", "AssocGrpCPUMinutesLimit"),  # its hours are used up
    'qos = "royal"': ("qos", "Invalid qos"),
    'account = "short"\noptions = ["--begin=now+1hour"]': ("max_time_min", "has cut job"),  # the site's policy does
}


def test_a_wrong_file_is_told_of_while_runs_wait_and_a_right_one_never_starts_a_job_twice(cluster: ClusterSite) -> None:
    runs = cluster.submit(4, seconds=LONG_S)
    # The first kind gets the runs that wait; of each other a job is kept.
    kinds = {f"wrong{n}": more if n == 0 else f"{more}\nminimum = 1" for n, more in enumerate(WRONG)}
    cluster.configure(kinds=kinds)
    cluster.launch()
    for kind, (setting, words) in zip(kinds, WRONG.values(), strict=True):
        wait_for(
            lambda kind=kind, words=words: words in cluster.problems().get(kind, {}).get("detail", ""),  # type: ignore[misc]  # of this turn
            60,
            lambda: f"{cluster.problems()}; {cluster.described(runs)}",
            0.1,
        )
        problem = cluster.problems()[kind]
        assert (problem["setting"], problem["queue"]) == (setting, cluster.queue.name)
        assert words in cluster.launchers[-1].text(), "the log says so, too"
    assert set(cluster.states(runs).values()) == {"queued"}, "the runs wait"
    cluster.stop_launchers()
    cluster.slurm.empty()

    cluster.configure()
    seen: set[str] = set()
    for _ in range(3 if SOAKS else 2):
        launchers = cluster.launch(), cluster.launch()
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            names = list(cluster.slurm.jobs("RUNNING", "COMPLETING").values())
            assert len(names) == len(set(names)) <= 4, names
            seen |= set(names)
            time.sleep(0.1)
        for launcher in launchers:
            launcher.kill()
    cluster.launch()
    wait_for(lambda: cluster.held_jobs(runs, 4), 120, lambda: cluster.described(runs), 0.1)
    assert len(cluster.slurm.jobs()) == 4, "as many as the maximum"
    cluster.finish(runs)
    judge(cluster, runs)
    assert set(cluster.verdict(runs).attempts.values()) == {1}, "\n".join(map(cluster.history, runs))
    assert len(seen) <= 4
    assert_ends_are_known()


def assert_ends_are_known() -> None:
    """The site has been told how each job ended, and when the workers among them began."""
    from competitions.compute.models import ClusterJob

    wait_for(lambda: not ClusterJob.objects.exclude(state="ended").exists(), 120, "the site knows that they ended", 0.1)
    jobs = list(ClusterJob.objects.filter(kind="cpu"))
    assert jobs
    assert {job.end_reason for job in jobs} <= {"completed", "cancelled"}
    assert all(job.ended_at and job.started_at for job in jobs if job.end_reason == "completed")


def test_a_run_goes_on_elsewhere_however_its_job_ends_and_waits_while_cluster_or_site_are_away(
    cluster: ClusterSite,
) -> None:
    cluster.configure(kinds={"cpu": "cpus = 4"})  # so a job has a node to itself
    runs = cluster.submit(len(NODES), seconds=LONG_S)
    began = time.monotonic()
    cluster.launch()
    cluster.running_job(runs)
    MEASURED["from the launcher's start to the first program that runs"] = f"{elapsed(began):.1f} s"
    jobs = wait_for(lambda: cluster.held_jobs(runs, len(NODES)), 120, lambda: cluster.described(runs), 0.1)
    nodes = {job: cluster.slurm.job_node(job) for job in jobs.values()}
    assert sorted(nodes.values()) == list(NODES)
    (limited, at_limit), (cancelled, by_scancel), (preempted, by_other), (lost, on_killed_node) = jobs.items()
    cluster.slurm.kill_node(nodes[on_killed_node])
    cluster.slurm.nodes[nodes[on_killed_node]].start()
    cluster.slurm.call("scontrol", "update", f"JobId={at_limit}", "EndTime=now+2")  # it looks every half minute
    cluster.slurm.call("scancel", by_scancel)
    urgent = ["--partition=urgent", f"--nodelist={nodes[by_other]}", "--exclusive", "--time=1"]
    cluster.slurm.submit("sleep 2", *urgent)
    # A run may have been claimed ahead by the next worker that is met: then it is at its third.
    wait_for(lambda: min(cluster.verdict(runs).attempts.values()) > 1, 90, lambda: cluster.described(runs), 0.2)
    assert [faults(run) for run in (limited, cancelled, preempted)] == [0, 0, 0], (
        "the cluster's decision is not a fault"
    )
    assert faults(lost) == 1, "a worker that was lost"
    again = wait_for(lambda: cluster.held_jobs(runs, len(NODES)), 120, lambda: cluster.described(runs), 0.1)
    end_run_and_job(cluster, lost, runs[lost], again[lost])

    more = be_away(cluster, runs)
    cluster.finish(runs)
    judge(cluster, runs | more)
    for run, job, word in (
        (limited, at_limit, "at its time limit"),
        (cancelled, by_scancel, "cancelled in the cluster"),
        (preempted, by_other, "preempted by another job"),
    ):
        notes = cluster.notes(run)
        assert any(note.startswith(f"The cluster's job {job} ended") and word in note for note in notes), notes


def end_run_and_job(cluster: ClusterSite, run: uuid.UUID, score: float, job: str) -> None:
    """End a run whose worker was lost once, and its job.

    Were the site away for a whole lease, the run would be held for a person.
    """
    cluster.finish({run: score})
    cluster.slurm.call("scancel", job)
    wait_for(lambda: job not in cluster.slurm.jobs(), 120, lambda: cluster.described({run: score}), 0.1)


def be_away(cluster: ClusterSite, runs: Runs) -> Runs:
    """Cluster and site are away for a while, one after the other; returns what was submitted meanwhile."""
    attempts = cluster.verdict(runs).attempts
    cluster.slurm.stop_controller()
    began = time.monotonic()
    more = cluster.submit(2, seconds=0.5)
    wait_for(
        lambda: "Slurm does not answer" in cluster.problems().get("", {}).get("detail", ""),
        60,
        lambda: f"the page says so; {cluster.described(runs)}",
        0.2,
    )
    time.sleep(max(0.0, AWAY_S - elapsed(began)))
    assert cluster.verdict(runs).attempts == attempts, "a cluster that is away costs no attempt"
    cluster.slurm.controller.start()
    cluster.proxies[0].mode = "down"
    time.sleep(AWAY_S)
    cluster.proxies[0].mode = ""
    return more


SHOW = """
import json, os
from types import SimpleNamespace
from workers.agent.host.gpus import choose_gpus
from workers.protocol.hosts import Gpu
gpus = [Gpu(uuid=f"GPU-{number}", model="A100", memory_bytes=1, driver="1") for number in range(2)]
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
    wait_for(lambda: all(log.exists() and log.read_text().strip() for log in logs), 120, "the jobs say", 0.1)
    outputs = [log.read_text().strip() for log in logs]
    assert sorted(outputs[:2]) == ['["GPU-0"]', '["GPU-1"]'], outputs
    assert outputs[2] == "[]", "a job without a GPU uses none"


@in_soak
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

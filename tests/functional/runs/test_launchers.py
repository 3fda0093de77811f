"""Launchers see how much waits and report their jobs; runs fit the jobs, and outlive them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Phase
from competitions.compute.launchers import expected_nodes, remove_gone_workers
from competitions.compute.models import ClusterJob, ComputeWorker, Launcher, Queue, issue_token
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.leases.interrupts import MAX_INTERRUPTIONS
from competitions.runs.models import Attempt, Run, RunEvent
from competitions.runs.queue.demand import Room, queue_depths
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from tests.permissions import user_client
from tests.scenario import Scenario, person

GIB = 1 << 30
REPORT: dict[str, Any] = {"source": "podium@lab", "version": "1", "is_complete": True, "jobs": [], "problems": []}


class LauncherClient:
    """A launcher that speaks to the site."""

    def __init__(self, site: Scenario) -> None:
        self.launcher = Launcher.objects.create(name="lab")
        self.launcher.queues.add(site.queue)
        self.token = issue_token(self.launcher)
        self.queue = site.queue.name

    def get(self, name: str, *args: str, token: str | None = None, **query: str) -> Any:
        return Client().get(reverse(name, args=args), query, headers=self.headers(token))

    def report(self, *jobs: dict[str, Any], token: str | None = None, **fields: Any) -> Any:
        body = REPORT | {"jobs": jobs} | fields
        url = reverse("launcher-report")
        return Client().post(url, body, content_type="application/json", headers=self.headers(token))

    def headers(self, token: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token if token is None else token}"}

    def job(self, **fields: Any) -> dict[str, Any]:
        base = {"id": "17", "queue": self.queue, "kind": "gpu", "state": "pending", "submitted_at": 1_900_000_000}
        return base | fields


@pytest.fixture
def launcher(site: Scenario) -> LauncherClient:
    return LauncherClient(site)


@pytest.fixture
def code_site(site: Scenario) -> Scenario:
    phase = site.phase
    phase.time_limit_s, phase.scoring_time_limit_s = 4 * 3600, 600
    phase.memory_bytes, phase.scoring_memory_bytes, phase.gpus = 16 * GIB, 2 * GIB, 1
    phase.save()
    return site


def code_run(site: Scenario) -> Run:
    return site.submit(kind=Kind.CODE).runs.get()


def job_worker(site: Scenario, job: str = "17") -> ComputeWorker:
    worker = site.worker()
    worker.job = job
    worker.save()
    return worker


def claim(site: Scenario, worker: ComputeWorker, room: Room) -> Run | None:
    return dispatch.run_claim(worker=worker, free_gpus=1, now=site.now, room=room)


@pytest.mark.parametrize(
    ("room", "fits"),
    [
        (Room(), True),
        (Room(seconds=4 * 3600 + 600), True),
        (Room(seconds=4 * 3600 + 599), False),
        (Room(seconds=3 * 3600), False),
        (Room(memory_bytes=16 * GIB), True),
        (Room(memory_bytes=16 * GIB - 1), False),
    ],
)
def test_a_run_is_handed_out_only_where_its_limits_fit_into_the_job(
    code_site: Scenario, room: Room, fits: bool
) -> None:
    run = code_run(code_site)
    claimed = claim(code_site, job_worker(code_site), room)
    assert (claimed is not None and claimed.pk == run.pk) is fits


def test_what_fits_goes_before_what_does_not(code_site: Scenario) -> None:
    code_run(code_site)
    small = code_site.submit(team=code_site.join("Predictors")).runs.get()
    claimed = claim(code_site, job_worker(code_site), Room(seconds=700, memory_bytes=2 * GIB))
    assert claimed is not None
    assert claimed.pk == small.pk, "predictions need the scoring program alone"


def test_packages_to_install_take_time_too(code_site: Scenario) -> None:
    run = code_run(code_site)
    Submission.objects.filter(pk=run.submission_id).update(requirements=run.submission.file)
    (depth,) = queue_depths([code_site.queue], now=code_site.now)
    assert depth.classes[0].wall_s == 4 * 3600 + 600 + code_site.queue.environment_time_limit_s


def test_depth_says_what_waits_by_what_it_needs(code_site: Scenario, launcher: LauncherClient) -> None:
    for name in ("One", "Two"):
        code_site.submit(team=code_site.join(name), kind=Kind.CODE)
    code_site.submit(team=code_site.join("Three"))
    worker = job_worker(code_site)
    claim(code_site, worker, Room())
    launcher.report(launcher.job(state="running", started_at=1_900_000_060))
    (queue,) = launcher.get("launcher-depth").json()["queues"]
    classes = {(each["gpus"], each["memory_bytes"], each["wall_s"]): each for each in queue["classes"]}
    assert set(classes) == {(1, 16 * GIB, 15000), (0, 2 * GIB, 600)}
    assert (queue["waiting"], queue["held"], queue["total"]) == (2, 1, 3)
    assert set(queue) == {
        "queue",
        "is_paused",
        "waiting",
        "held",
        "total",
        "classes",
        "busy_jobs",
        "silent_jobs",
        "fruitless_jobs",
    }
    assert queue["busy_jobs"] == ["17"]


def test_jobs_whose_workers_are_silent_and_jobs_that_ended_without_a_run_are_named(
    code_site: Scenario, launcher: LauncherClient
) -> None:
    worker = job_worker(code_site)
    launcher.report(launcher.job(state="running", started_at=1_900_000_060))
    later = worker.last_seen_at + timedelta(seconds=91)
    (depth,) = queue_depths([code_site.queue], now=later)
    assert (depth.silent_jobs, depth.fruitless_jobs) == (("17",), 0)
    (depth,) = queue_depths([code_site.queue], now=worker.last_seen_at)
    assert depth.silent_jobs == ()
    launcher.report(launcher.job(state="ended", end="completed", ended_at=1_900_000_100))
    (depth,) = queue_depths([code_site.queue], now=later)
    assert (depth.silent_jobs, depth.fruitless_jobs) == ((), 1)
    code_run(code_site)
    claim(code_site, worker, Room())
    (depth,) = queue_depths([code_site.queue], now=later)
    assert depth.fruitless_jobs == 0


def test_runs_on_other_workers_are_no_demand_for_jobs(code_site: Scenario) -> None:
    code_run(code_site)
    claim(code_site, code_site.worker(), Room())
    (depth,) = queue_depths([code_site.queue], now=code_site.now)
    assert depth.total == 0


def test_a_paused_queue_asks_for_no_nodes(code_site: Scenario) -> None:
    code_run(code_site)
    Queue.objects.update(is_paused=True)
    (depth,) = queue_depths(Queue.objects.all(), now=code_site.now)
    assert (depth.is_paused, depth.waiting) == (True, 0)


def test_a_scaler_reads_one_number_of_the_runs_within_bounds(code_site: Scenario, launcher: LauncherClient) -> None:
    code_run(code_site)
    code_site.submit(team=code_site.join("Other"))
    name = launcher.queue

    def total(**bounds: str) -> object:
        return launcher.get("launcher-queue-depth", name, **bounds).json()["total"]

    assert total() == 2
    assert total(gpus="1") == 1
    assert total(gpus="0") == 1
    assert total(gpus="1", max_wall_s="14999") == 0
    assert total(max_memory_bytes=str(2 * GIB)) == 1
    Phase.objects.filter(pk=code_site.phase.pk).update(isolation="sandboxed")
    assert (total(isolation="standard"), total(isolation="sandboxed")) == (1, 1), "predictions are scored anywhere"
    wrong = launcher.get("launcher-queue-depth", name, isolation="vm").json()["detail"]
    assert wrong == "'isolation' must be one of standard, sandboxed, not 'vm'."
    refused = launcher.get("launcher-queue-depth", name, gpus="one")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_result")
    assert "'gpus' must be a whole number" in refused.json()["detail"]


def test_a_launcher_sees_and_reports_its_own_queues_alone(site: Scenario, launcher: LauncherClient) -> None:
    other = Queue.objects.create(name="others")
    assert launcher.get("launcher-queue-depth", other.name).json()["code"] == "queue_not_allowed"
    assert launcher.get("launcher-queue-depth", "nowhere").json()["code"] == "queue_not_allowed"
    refused = launcher.report(launcher.job(queue=other.name))
    assert (refused.status_code, ClusterJob.objects.count()) == (403, 0)
    assert f"its queues are: {site.queue.name}" in refused.json()["detail"]
    assert launcher.report(problems=[{"queue": "nowhere", "detail": "x"}]).status_code == 403


@pytest.mark.parametrize("kind", ["queue", "none"])
def test_other_tokens_are_worth_nothing_here_and_this_one_nothing_elsewhere(
    site: Scenario, launcher: LauncherClient, kind: str
) -> None:
    token = site.token if kind == "queue" else ""
    assert launcher.get("launcher-depth", token=token).status_code == 401
    assert launcher.report(token=token).status_code == 401
    body = {"protocol": 1, "name": "w"}
    headers = launcher.headers(None)
    url = reverse("worker-register")
    assert Client().post(url, body, content_type="application/json", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": "1; reboot"}, "jobs[0].id"),
        ({"state": "gone"}, "jobs[0].state"),
        ({"state": "ended"}, "a job has an 'end' exactly when"),
        ({"end": "timeout"}, "a job has an 'end' exactly when"),
        ({"submitted_at": -1}, "jobs[0].submitted_at"),
        ({"submitted_at": 1e12}, "jobs[0].submitted_at"),
        ({"gpus": "many"}, "jobs[0].gpus"),
        ({"memory_bytes": 2**70}, "jobs[0].memory_bytes"),
    ],
)
def test_a_report_that_cannot_be_right_changes_nothing(
    launcher: LauncherClient, fields: dict[str, Any], words: str
) -> None:
    refused = launcher.report(launcher.job(**fields))
    assert refused.status_code == 422
    assert words in refused.json()["detail"]
    assert not ClusterJob.objects.exists()
    assert Launcher.objects.get().last_seen_at is None


def test_jobs_are_kept_from_their_start_to_their_end(launcher: LauncherClient) -> None:
    launcher.report(launcher.job())
    launcher.report(launcher.job(state="running", started_at=1_900_000_060, gpus=1, nodes="node1"))
    ended = {"state": "ended", "end": "timeout", "started_at": 1_900_000_060, "ended_at": 1_900_003_660, "gpus": 1}
    assert launcher.report(launcher.job(**ended)).json() == {"ended": 1}
    assert launcher.report(launcher.job(**ended)).json() == {"ended": 0}, "said twice"
    assert launcher.report().json() == {"ended": 0}, "the cluster forgets it"
    job = ClusterJob.objects.get()
    assert job.ended_at is not None
    assert job.started_at is not None
    assert (job.end_reason, job.gpus, (job.ended_at - job.started_at).total_seconds()) == ("timeout", 1, 3600)


def test_a_job_that_the_cluster_does_not_know_any_more_has_ended(launcher: LauncherClient) -> None:
    launcher.report(launcher.job(state="running", started_at=1_900_000_060))
    assert launcher.report(is_complete=False).json() == {"ended": 0}, "the cluster was away"
    assert launcher.report().json() == {"ended": 1}
    assert ClusterJob.objects.get().end_reason == "unknown"


def test_a_job_whose_kind_left_the_launchers_file_is_said_to_be_that_and_its_run_goes_on(
    code_site: Scenario, launcher: LauncherClient
) -> None:
    run = code_run(code_site)
    claim(code_site, job_worker(code_site), Room())
    launcher.report(launcher.job(state="running", started_at=1_900_000_060), kinds=["cpu", "gpu"])
    assert launcher.report(kinds=["cpu"]).json() == {"ended": 1}
    job = ClusterJob.objects.get()
    assert (job.end_reason, job.get_end_reason_display()) == ("kind_removed", "its kind left the launcher's file")
    run.refresh_from_db()
    assert (run.state, run.attempt, run.faults) == (State.LEASED, 1, 0), "the job may go on in the cluster"
    launcher.report(launcher.job(state="running", started_at=1_900_000_060), kinds=["cpu", "gpu"])
    job.refresh_from_db()
    assert (job.state, job.end_reason) == ("running", ""), "the kind is there again"
    assert launcher.report(kinds=["cpu", "gpu"]).json() == {"ended": 1}
    job.refresh_from_db()
    assert job.end_reason == "unknown", "its kind is there, the job is not"


def test_two_launchers_with_one_token_are_told(launcher: LauncherClient) -> None:
    launcher.report(launcher.job())
    refused = launcher.report(source="somebody@lab")
    assert (refused.status_code, refused.json()["code"]) == (409, "launcher_in_use")
    assert ClusterJob.objects.get().state == "pending"


@pytest.mark.parametrize("end", ["timeout", "preempted", "cancelled"])
def test_a_run_whose_job_the_cluster_ended_goes_on_elsewhere_and_is_nobodys_fault(
    code_site: Scenario, launcher: LauncherClient, end: str
) -> None:
    run = code_run(code_site)
    worker = job_worker(code_site)
    claim(code_site, worker, Room())
    launcher.report(launcher.job(state="ended", end=end, ended_at=1_900_000_100))
    run.refresh_from_db()
    assert (run.state, run.attempt, run.faults, run.submission.is_charged) == (State.QUEUED, 2, 0, True)
    assert ComputeWorker.objects.get(pk=worker.pk).infrastructure_failures == 0
    note = RunEvent.objects.filter(run=run).latest("pk").note
    assert note.startswith("The cluster's job 17 ended: ")
    assert Attempt.objects.get(run=run).detail == note
    again = claim(code_site, job_worker(code_site, "18"), Room())
    assert again is not None
    assert again.pk == run.pk


def test_a_run_is_taken_back_by_the_next_report_where_the_site_stopped_after_the_job_was_written_down(
    code_site: Scenario, launcher: LauncherClient
) -> None:
    run = code_run(code_site)
    claim(code_site, job_worker(code_site), Room())
    launcher.report(launcher.job(state="running", started_at=1_900_000_060))
    ClusterJob.objects.update(state="ended", end_reason="preempted", ended_at=code_site.now)
    for _ in range(2):
        assert launcher.report(launcher.job(state="ended", end="preempted", ended_at=1_900_000_100)).json() == {
            "ended": 0
        }
        run.refresh_from_db()
        assert (run.state, run.attempt, run.faults) == (State.QUEUED, 2, 0)


@pytest.mark.parametrize("end", ["failed", "node_fail", "out_of_memory", "unknown"])
def test_a_worker_that_is_lost_counts_as_one_whose_lease_ran_out(
    code_site: Scenario, launcher: LauncherClient, end: str
) -> None:
    run = code_run(code_site)
    claim(code_site, job_worker(code_site), Room())
    launcher.report(launcher.job(state="ended", end=end, ended_at=1_900_000_100))
    run.refresh_from_db()
    assert (run.state, run.attempt, run.faults) == (State.QUEUED, 2, 1)


def release(run: Run, **fields: Any) -> Any:
    headers = {"Authorization": f"Bearer {reports.run_token(run)}"}
    url = reverse("worker-release", args=[run.pk])
    return Client().post(url, fields, content_type="application/json", headers=headers)


def test_a_run_that_its_worker_hands_back_says_which_job_ended_and_later_how(
    code_site: Scenario, launcher: LauncherClient
) -> None:
    run = code_run(code_site)
    held = claim(code_site, job_worker(code_site), Room())
    assert held is not None
    assert release(
        held, interrupted="The cluster's job 17 ended before the run was over: it was told to end."
    ).json() == {"state": "queued"}
    run.refresh_from_db()
    assert (run.state, run.attempt, run.faults) == (State.QUEUED, 2, 0)
    assert release(held, interrupted="again").status_code == 409, "the lease is over"
    for _ in range(2):
        launcher.report(launcher.job(state="ended", end="preempted", ended_at=1_900_000_100))
    note = RunEvent.objects.filter(run=run).latest("pk").note
    assert note.endswith("it was told to end. The cluster's job 17 ended: preempted by another job.")
    page = user_client(code_site.member()).get(reverse("web:submission", args=[run.submission_id])).content.decode()
    assert "job 17 ended: preempted by another job" in page


def test_a_run_that_is_being_cancelled_ends_when_it_is_handed_back(code_site: Scenario) -> None:
    run = code_run(code_site)
    held = claim(code_site, job_worker(code_site), Room())
    assert held is not None
    Run.objects.update(cancel_requested_at=code_site.now)
    assert release(held, interrupted="the job ends").json() == {"state": "cancelled"}
    run.refresh_from_db()
    assert run.attempt == 1


def test_a_run_is_not_interrupted_for_ever(code_site: Scenario) -> None:
    run = code_run(code_site)
    Run.objects.update(attempt=MAX_INTERRUPTIONS)
    held = claim(code_site, job_worker(code_site), Room())
    assert held is not None
    release(held, interrupted="the job ends")
    run.refresh_from_db()
    assert run.faults == 1


def test_a_team_that_waits_sees_that_a_node_is_being_started(site: Scenario, launcher: LauncherClient) -> None:
    submission = site.submit()
    client = user_client(site.member())
    url = reverse("web:submission", args=[submission.pk])
    assert "A node is being started" not in client.get(url).content.decode()
    launcher.report(launcher.job())
    assert "A node is being started." in client.get(url).content.decode()
    launcher.report(launcher.job(expected_start_at=4_000_000_000))
    page = client.get(url).content.decode()
    assert "A node is being started; the cluster expects it at" in page
    assert "2096-10-02" in page
    Launcher.objects.update(last_seen_at=site.now - timedelta(days=9999))
    assert "A node is being started" not in client.get(url).content.decode(), "nobody knows any more"


def test_of_several_nodes_the_first_counts(site: Scenario, launcher: LauncherClient) -> None:
    launcher.report(
        launcher.job(expected_start_at=4_000_000_100),
        launcher.job(id="18", expected_start_at=4_000_000_000),
        launcher.job(id="19"),
    )
    now = Launcher.objects.get().last_seen_at
    assert now is not None
    starts_at = expected_nodes([site.queue], now=now)[site.queue.pk].starts_at
    assert starts_at is not None
    assert starts_at.timestamp() == 4_000_000_000


def test_problems_stand_on_the_queues_pages_with_the_setting_to_change(
    site: Scenario, launcher: LauncherClient
) -> None:
    problem = {
        "queue": site.queue.name,
        "kind": "gpu",
        "setting": "partition",
        "detail": "There is no partition <b>x</b>.",
    }
    launcher.report(launcher.job(), problems=[problem])
    root = person("root", is_superuser=True, is_staff=True)
    words = "There is no partition &lt;b&gt;x&lt;/b&gt;. Change the setting “partition” (jobs “gpu”) of the launcher&#x27;s file."
    pages = (
        reverse("admin:compute_queue_change", args=[site.queue.pk]),
        reverse("admin:compute_launcher_change", args=[launcher.launcher.pk]),
        reverse("organize:queue", args=[site.queue.name]),
    )
    for page in pages:
        assert words in user_client(root).get(page).content.decode(), page
    launcher.report(launcher.job())
    assert "There is no partition" not in user_client(root).get(pages[2]).content.decode(), "it is fixed"


def test_an_administrator_makes_a_token_in_the_admin_and_it_is_stored_as_a_hash(
    site: Scenario, launcher: LauncherClient
) -> None:
    root = person("root", is_superuser=True, is_staff=True)
    body = {"action": "issue_token", "_selected_action": [launcher.launcher.pk]}
    page = user_client(root).post(reverse("admin:compute_launcher_changelist"), body, follow=True).content.decode()
    secret = page.split("shown only now: ")[1].split("<")[0].strip()
    assert secret.startswith("podiuml_")
    assert launcher.get("launcher-depth").status_code == 401, "the old one has ended"
    assert launcher.get("launcher-depth", token=secret).status_code == 200
    assert secret not in str(Launcher.objects.values().get())


def test_workers_of_jobs_that_are_long_gone_are_removed_and_others_stay(code_site: Scenario) -> None:
    old = code_site.now - timedelta(days=8)
    gone, stays = (
        job_worker(code_site),
        ComputeWorker.objects.create(queue=code_site.queue, name="box", registered_at=old, last_seen_at=old),
    )
    ComputeWorker.objects.update(last_seen_at=old)
    assert remove_gone_workers(now=code_site.now) == 1
    assert list(ComputeWorker.objects.all()) == [stays]
    assert gone.pk != stays.pk

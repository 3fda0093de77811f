"""The worker as a process against the real site: PostgreSQL, Docker Engine, file broker."""

from __future__ import annotations

import ctypes
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from competitions.leaderboards.rescoring import services
from competitions.resources.storage import store_bytes
from competitions.runs.models import Attempt, Run, RunLog, RunOutput
from competitions.runs.rescoring import submission_rescore
from competitions.submissions.states import State
from tests.faults.proxy import Proxy
from tests.integration.workers.harness import SCORER, zipped
from tests.integration.workers.site import ANSWER, METADATA, SmallSite, WorkerProcess, ended
from tests.waiting import wait_for
from workers.agent.host.janitor import remove_run_folder
from workers.engines.docker.client import DockerEngine

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image")]

SLOW = "import time; print('begun', flush=True); time.sleep(8)\n" + ANSWER
Start = Callable[..., WorkerProcess]


@pytest.fixture
def site(live_server: Any, settings: Any) -> Iterator[SmallSite]:
    """The real site with a small competition, ending once no other query runs.

    Emptying the tables would otherwise deadlock with the last request of a killed worker.
    """
    settings.SITE_URL = live_server.url
    yield SmallSite(live_server.url)
    wait_for(lambda: all(nobody_else_queries() for _ in range(5)), 120, "the database is quiet")


def nobody_else_queries() -> bool:
    """True when no other connection of the database is in a statement or transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state IN ('active', 'idle in transaction')"
        )
        count = cursor.fetchone()[0]
    time.sleep(0.02)  # a request that has just begun has not reached the database yet
    return bool(count == 0)


@pytest.fixture
def start_worker(site: SmallSite, tmp_path: Path) -> Iterator[Start]:
    """Starts workers, and ends them after the test; nothing of theirs may be left on the engine."""
    started: list[WorkerProcess] = []

    def start(name: str = "w1", options: tuple[str, ...] = ()) -> WorkerProcess:
        worker = WorkerProcess(site, tmp_path, name=f"{name}-{site.queue.name}", options=options)
        started.append(worker.start())
        return worker

    yield start
    wait_for(lambda: not any(worker_containers(site, name) for name in ("w1", "w2")), 120, "containers removed")
    for worker in started:
        if worker.process is not None and worker.process.poll() is None:
            worker.end(signal.SIGKILL)
        for run in worker.runs:  # of a test that failed: its mounts must not outlive it
            remove_run_folder(run)


@cache
def engine() -> DockerEngine:
    """One connection for all questions: a new one asks for the engine's version first."""
    return DockerEngine()


def worker_containers(site: SmallSite, name: str = "w1") -> list[str]:
    return list(engine().list({"podium.worker-name": f"{name}-{site.queue.name}"}))


def running(site: SmallSite) -> list[str]:
    filters = {"label": f"podium.worker-name=w1-{site.queue.name}", "status": "running"}
    return [str(row["Id"]) for row in engine().api.containers(quiet=True, filters=filters)]


def test_a_code_submission_is_scored_and_its_outputs_and_log_arrive(site: SmallSite, start_worker: Start) -> None:
    start_worker()
    run = ended(site.submit("print('hello from the program')\n" + ANSWER))[0]
    assert (run.state, run.scores, run.attempt) == (State.FINISHED, {"score": 0.25}, 1)
    assert set(RunOutput.objects.filter(run=run).values_list("name", flat=True)) == {
        "predictions.zip",
        "scoring.zip",
        "ingestion.log",
    }
    assert "hello from the program" in "".join(RunLog.objects.filter(run=run).values_list("text", flat=True))
    assert run.meters["wall_s"] >= 0
    assert run.meters["memory_peak_bytes"] > 1_000_000
    assert [stage["name"] for stage in run.receipt["stages"]] == ["ingestion", "scoring"]
    rescored = ended([a_proposals_run(site, run)])[0]
    assert (rescored.scores, [stage["name"] for stage in rescored.receipt["stages"]]) == ({"score": 0.5}, ["scoring"])
    wait_for(lambda: worker_containers(site) == [], 120, "containers removed")


def a_proposals_run(site: SmallSite, run: Run) -> Run:
    """The run of a copy for a proposal of a scoring program that doubles the score, queued."""
    begun = services.proposal_begin(
        competition=site.competition, title="T", reason="R", by=site.user, now=datetime.now(UTC)
    )
    doubling = SCORER.replace("float(", "2 * float(")
    assert doubling != SCORER
    file = store_bytes(zipped({"main.py": doubling, "metadata.yaml": METADATA}))
    services.proposal_put_file(
        proposal=begun, task=site.task, slot="scoring_program", file=file, file_name="s.zip", by=site.user
    )
    rescoring = submission_rescore(proposal=begun, submission=run.submission, now=datetime.now(UTC))
    return rescoring.copy.runs.get()


def test_a_finished_run_whose_outputs_a_proxy_refuses_is_our_failure_and_is_tried_again(
    site: SmallSite, start_worker: Start
) -> None:
    proxy = Proxy(site.url)
    proxy.mode = "small"
    try:
        start_worker(options=("--site", proxy.url))
        runs = site.submit(ANSWER)
        attempt = wait_for(lambda: Attempt.objects.filter(run=runs[0]).first(), 120, "the first attempt ends")
        proxy.mode = ""
        assert (attempt.outcome, attempt.reason) == (State.QUEUED, "infrastructure")
        assert "refused the output" in attempt.detail
        run = ended(runs)[0]
        assert (run.state, run.scores, run.attempt) == (State.FINISHED, {"score": 0.25}, 2)
    finally:
        proxy.stop()


def test_a_worker_that_is_killed_leaves_its_container_and_the_next_process_adopts_it(
    site: SmallSite, start_worker: Start
) -> None:
    first = start_worker()
    runs = site.submit(SLOW)
    container = wait_for(lambda: running(site), 120, "the container runs")[0]
    first.end(signal.SIGKILL)
    assert engine().observe(container).status == "running"
    second = first.start()
    run = ended(runs)[0]
    assert (run.state, run.scores, run.attempt) == (State.FINISHED, {"score": 0.25}, 1)
    assert "run_adopted" in second.events()
    assert RunLog.objects.filter(run=run, text__contains="begun").count() == 1
    wait_for(lambda: worker_containers(site) == [], 120, "containers removed")


def test_a_container_that_ended_while_no_worker_was_there_is_collected_and_scored(
    site: SmallSite, start_worker: Start
) -> None:
    worker = start_worker()
    submitted = time.monotonic()
    runs = site.submit("import time; time.sleep(3)\n" + ANSWER)
    wait_for(lambda: running(site), 120, "the container runs")
    worker.end(signal.SIGKILL)
    wait_for(lambda: not running(site), 120, "the container has ended")
    alone = time.monotonic() - submitted
    worker.start()
    run = ended(runs)[0]
    assert (run.state, run.scores, run.attempt) == (State.FINISHED, {"score": 0.25}, 1)
    assert 2.9 <= run.meters["wall_s"] < alone, "what it waited for a worker is not its time"


def test_the_time_limit_goes_on_through_a_restart_of_the_worker(site: SmallSite, start_worker: Start) -> None:
    site.phase.time_limit_s = 6
    site.phase.save()
    worker = start_worker()
    runs = site.submit("import time; time.sleep(60)\n")
    wait_for(lambda: running(site), 120, "the container runs")
    begun = time.monotonic()
    worker.end(signal.SIGKILL)
    second = worker.start()
    wait_for(lambda: "run_adopted" in second.events(), 120, "it is adopted")
    adopted_after = time.monotonic() - begun
    run = ended(runs)[0]
    assert (run.state, run.reason, run.attempt) == (State.FAILED, "time_limit", 1)
    assert 6 <= run.meters["wall_s"] <= max(8, adopted_after + 5), "a limit that began anew would be 6 s later"


def test_a_container_that_vanished_with_the_worker_is_the_platforms_failure(
    site: SmallSite, start_worker: Start
) -> None:
    worker = start_worker()
    runs = site.submit(SLOW)
    container = wait_for(lambda: running(site), 120, "the container runs")[0]
    worker.end(signal.SIGKILL)
    engine().remove(container)
    worker.start()

    # It waits in the queue, or the worker has taken it again already.
    wait_for(lambda: Run.objects.get(pk=runs[0].pk).attempt == 2, 120, "there is a second attempt")
    first = Attempt.objects.get(run=runs[0], attempt=1)
    assert first.reason == "infrastructure"
    assert "inspecting the container" in first.detail


def test_a_signal_that_another_thread_receives_ends_a_worker_too(start_worker: Start) -> None:
    """The kernel chooses the thread; one that starts a program just then may be it."""
    worker = start_worker()
    assert worker.process is not None
    pid = worker.process.pid
    other = max(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    assert other != pid
    assert ctypes.CDLL(None).tgkill(pid, other, signal.SIGTERM) == 0
    assert worker.process.wait(120) == 0


def test_a_run_that_waits_behind_a_long_one_is_given_back_so_that_another_worker_can_take_it(
    site: SmallSite, start_worker: Start
) -> None:
    start_worker()
    site.phase.time_limit_s = 600
    site.phase.save()
    long = site.submit("import time; time.sleep(600)\n" + ANSWER)
    wait_for(lambda: running(site), 120, "the container runs")
    short = site.submit()
    start_worker("w2")
    short_run = ended(short)[0]
    assert short_run.state == State.FINISHED
    assert short_run.worker is not None
    assert short_run.worker.name.startswith("w2")
    assert short_run.attempt == 1
    assert running(site), "the long one goes on"
    Run.objects.filter(pk=long[0].pk).update(cancel_requested_at=datetime.now(UTC))
    assert ended(long)[0].state == State.CANCELLED


def test_a_cancelled_run_ends_within_seconds_and_its_container_is_gone(site: SmallSite, start_worker: Start) -> None:
    start_worker()
    runs = site.submit("import time; time.sleep(120)\n")
    wait_for(lambda: running(site), 120, "the container runs")
    Run.objects.filter(pk=runs[0].pk).update(cancel_requested_at=datetime.now(UTC))
    site.submit()  # any heartbeat brings the cancel; a run in the queue must not get in its way
    run = ended(runs)[0]
    assert run.state == State.CANCELLED
    wait_for(lambda: worker_containers(site) == [], 120, "containers removed")


def test_a_run_whose_lease_was_taken_away_is_dropped_without_a_word(site: SmallSite, start_worker: Start) -> None:
    worker = start_worker()
    runs = site.submit("import time; time.sleep(120)\n" + ANSWER)
    wait_for(lambda: running(site), 120, "the container runs")
    first = Run.objects.get(pk=runs[0].pk)
    Run.objects.filter(pk=first.pk).update(lease_id=uuid.uuid4())
    wait_for(lambda: not running(site), 120, "the container is killed")
    wait_for(lambda: "heartbeat_refused" in worker.events(), 120, "the refusal is in the log")
    first.refresh_from_db()
    assert first.scores in ({}, None)


def test_submissions_in_a_row_are_each_judged_once_whatever_the_one_before_did(
    site: SmallSite, start_worker: Start
) -> None:
    start_worker()
    runs = [*site.submit(count=3), *site.submit("raise SystemExit(3)"), *site.submit(count=4)]
    scored = ended(runs)
    failed = scored.pop(3)
    assert (failed.state, failed.reason, failed.code, failed.attempt) == (State.FAILED, "program_error", "exit_code", 1)
    assert "exit code 3" in failed.detail, "the participant's failure, after one attempt"
    assert [(run.state, run.attempt, run.scores) for run in scored] == [(State.FINISHED, 1, {"score": 0.25})] * 7

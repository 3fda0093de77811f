"""Teams' turns on a queue, workers that a run must avoid, and runs held for a person."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models import QuerySet

from competitions.compute.models import ComputeWorker
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.leases.interrupts import run_interrupt
from competitions.runs.leases.retries import expire_leases
from competitions.runs.models import Run, TeamTurn
from competitions.runs.queue import matching
from competitions.runs.services import submission_rerun
from competitions.runs.transitions import run_fail
from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, Reason, State
from tests.answers import read_result
from tests.scenario import Scenario, lease, preempt, scenario
from tests.soak import in_soak

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> Scenario:
    return scenario(max_submissions_per_day=None)


def claim(worker: ComputeWorker, at: datetime, claim_id: str = "") -> Run | None:
    worker.last_seen_at = at
    worker.save(update_fields=["last_seen_at"])
    return dispatch.run_claim(worker=worker, free_gpus=worker.gpu_count, now=at, claim_id=claim_id)


def answer(run: Run, at: datetime, reason: Reason | None = None) -> None:
    body: dict[str, Any] = {"outcome": "finished", "scores": {"mae": 0.5}}
    if reason is not None:
        body = {"outcome": "failed", "reason": reason, "code": "engine_lost", "detail": "The engine went away."}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=at)


def test_one_submission_of_a_second_team_is_next_after_a_hundred_of_the_first(site: Scenario) -> None:
    other, worker = site.join("Other"), site.worker()
    for _ in range(8):
        site.submit()
    late = site.submit(team=other)
    first = claim(worker, site.now)
    assert first is not None
    answer(first, site.now)
    second = claim(worker, site.now + timedelta(seconds=5))
    assert second is not None
    assert second.submission_id == late.pk


@pytest.mark.parametrize("teams", [pytest.param(2, marks=in_soak), 3, pytest.param(4, marks=in_soak)])
def test_runs_that_are_claimed_ahead_and_given_back_cost_no_team_its_turn(site: Scenario, teams: int) -> None:
    """One slot whose runs take long: each time, the next run is claimed ahead and given back."""
    everybody = [site.team, *(site.join() for _ in range(teams - 1))]
    for team in everybody:
        for _ in range(3):
            site.submit(team=team)
    worker, served, at = site.worker(), Counter[int](), site.now
    for _ in range(2 * teams):
        run, ahead = claim(worker, at), claim(worker, at + timedelta(seconds=1))
        assert run is not None
        assert ahead is not None
        reports.run_release(**lease(ahead), note="", now=at + timedelta(seconds=6))
        served[run.team_id] += 1
        answer(run, at := at + timedelta(minutes=10))
    assert served == {team.pk: 2 for team in everybody}


def test_a_run_that_is_given_back_takes_no_later_turn_of_its_team_along(site: Scenario) -> None:
    worker = site.worker()
    site.submit(), site.submit()
    ahead = claim(worker, site.now + timedelta(seconds=1))
    assert ahead is not None
    claim(worker, site.now + timedelta(seconds=2))
    reports.run_release(**lease(ahead), note="", now=site.now + timedelta(seconds=6))
    assert TeamTurn.objects.get().served_at == site.now + timedelta(seconds=2)


def test_a_team_at_the_queues_cap_waits_and_others_do_not(site: Scenario) -> None:
    site.queue.max_in_flight_per_team = 1
    site.queue.save()
    other, workers = site.join("Other"), [site.worker() for _ in range(3)]
    site.submit(), site.submit()
    first = claim(workers[0], site.now)
    assert first is not None
    assert claim(workers[1], site.now) is None
    theirs = site.submit(team=other)
    run = claim(workers[1], site.now)
    assert run is not None
    assert run.submission_id == theirs.pk
    answer(first, site.now)
    assert claim(workers[2], site.now) is not None


def test_a_run_that_failed_here_goes_to_another_worker_first(site: Scenario) -> None:
    here, there = site.worker(), site.worker()
    site.submit()
    claim(there, site.now)  # it is heard of; somebody else's run is not needed for that
    run = Run.objects.get()
    reports.run_release(**lease(run), note="", now=site.now)
    run = claim(here, site.now)  # type: ignore[assignment]  # there is one
    answer(run, site.now, Reason.INFRASTRUCTURE)
    assert claim(here, site.now + timedelta(seconds=1)) is None
    again = claim(there, site.now + timedelta(seconds=2))
    assert again is not None
    assert again.attempt == 2


def test_a_run_that_failed_here_comes_back_when_no_other_worker_takes_it(site: Scenario) -> None:
    here, there = site.worker(), site.worker()
    site.submit()
    run = claim(here, site.now)
    assert run is not None
    answer(run, site.now, Reason.INFRASTRUCTURE)
    assert claim(here, site.now + timedelta(seconds=10)) is None
    assert claim(here, site.now + timedelta(seconds=settings.LEASE_S + 60)) is not None, "the other has fallen silent"
    assert there.pk != here.pk


def test_a_run_that_fails_here_while_its_worker_claims_goes_elsewhere(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = site.worker(), site.worker()
    first, second = site.submit(), site.submit()
    run = claim(here, site.now)
    assert run is not None
    ask = matching._elsewhere_first

    def fail_meanwhile(waiting: QuerySet[Run], worker: ComputeWorker, now: datetime) -> QuerySet[Run]:
        retried = ask(waiting, worker, now)
        list(retried)
        if Run.objects.get(pk=run.pk).state == State.LEASED:
            answer(run, site.now, Reason.INFRASTRUCTURE)
        return retried

    monkeypatch.setattr(matching, "_elsewhere_first", fail_meanwhile)
    other = claim(here, site.now)
    assert other is not None
    assert {run.submission, other.submission} == {first, second}, "both came at one instant: either may be the first"


@pytest.mark.parametrize("gpus", [0, 1])
def test_a_gpu_run_does_not_wait_for_a_worker_without_one(site: Scenario, gpus: int) -> None:
    site.phase.gpus = 1
    site.phase.save()
    here = site.worker(gpus=1)
    site.worker(gpus=gpus)
    site.submit(kind=Kind.CODE)
    run = claim(here, site.now)
    assert run is not None
    answer(run, site.now, Reason.INFRASTRUCTURE)
    assert (claim(here, site.now + timedelta(seconds=1)) is None) == bool(gpus)


def start(run: Run, at: datetime) -> None:
    reports.run_heartbeat(**lease(run), state=State.SCORING, meters={}, now=at)


def lost_while_running(run: Run, at: datetime) -> None:
    start(run, at)
    assert expire_leases(now=at + timedelta(seconds=settings.LEASE_S)) == 1


def test_a_run_that_two_workers_were_lost_with_is_held_until_a_person_runs_it_again(site: Scenario) -> None:
    submission = site.submit()
    for hour in range(2):
        run = claim(site.worker(), site.now + timedelta(hours=hour))
        assert run is not None
        lost_while_running(run, site.now + timedelta(hours=hour))
    submission.refresh_from_db()
    run = Run.objects.get()
    assert (run.state, run.reason, run.code, submission.is_charged) == (
        "failed",
        "infrastructure",
        "run_quarantined",
        False,
    )
    assert "were lost while they had this run" in run.detail
    submission_rerun(submission=submission, actor="admin:root", now=site.now)
    assert claim(site.worker(), site.now) is not None


def test_the_same_worker_lost_twice_with_a_run_does_not_hold_it(site: Scenario) -> None:
    site.submit()
    worker = site.worker()
    for attempt in (1, 2):
        run = claim(worker, site.now + timedelta(hours=attempt))
        assert run is not None
        lost_while_running(run, site.now + timedelta(hours=attempt))
    assert Run.objects.get().state == State.QUEUED


@pytest.mark.parametrize(
    ("fates", "state"),
    [
        (["a is lost", "b is interrupted", "b is lost"], State.FAILED),
        (["a is lost", "b is preempted", "a is lost"], State.QUEUED),
    ],
)
def test_workers_that_were_lost_hold_a_run_whatever_ended_its_other_attempts(
    site: Scenario, fates: list[str], state: State
) -> None:
    site.submit()
    workers = {"a": site.worker(), "b": site.worker()}
    for hour, fate in enumerate(fates, start=1):
        at = site.now + timedelta(hours=hour)
        run = claim(workers[fate[0]], at)
        assert run is not None
        match fate.split()[-1]:
            case "lost":
                lost_while_running(run, at)
            case "interrupted":
                start(run, at)
                run_interrupt(**lease(run), detail="The job ends.", now=at)
            case "preempted":
                start(run, at)
                preempt(run, at=at)
    assert Run.objects.get().state == state


def test_leases_that_nobody_ever_held_do_not_hold_a_run(site: Scenario) -> None:
    site.submit()
    for hour in range(2):
        at = site.now + timedelta(hours=hour)
        assert claim(site.worker(), at) is not None
        assert expire_leases(now=at + timedelta(seconds=settings.LEASE_S)) == 1
    assert Run.objects.get().state == State.QUEUED


def test_a_claim_that_is_sent_twice_gets_the_same_run_and_late_copies_nothing(site: Scenario) -> None:
    worker = site.worker()
    site.submit(), site.submit()
    first, again = claim(worker, site.now, "c1"), claim(worker, site.now, "c1")
    assert first is not None
    assert again is not None
    assert (again.pk, again.lease_id) == (first.pk, first.lease_id)
    answer(first, site.now)
    assert claim(worker, site.now, "c1") is None
    other = claim(worker, site.now, "c2")
    assert other is not None
    assert other.pk != first.pk


def test_a_claim_that_got_nothing_while_its_first_copy_ended_a_run_leases_none_behind(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, answers = site.worker(), list[Run | None]()
    site.queue.allowed_images = "podium/*"
    site.queue.save()
    site.phase.docker_image = "evil/miner:latest"
    site.phase.save()
    site.submit(), site.submit(phase=site.sealed, at=site.now + timedelta(seconds=1))

    def end_and_hear_again(run: Run, **options: Any) -> bool:
        ended = run_fail(run, **options)
        answers.append(claim(worker, site.now, "c1"))
        return ended

    monkeypatch.setattr(dispatch, "run_fail", end_and_hear_again)
    assert claim(worker, site.now + timedelta(seconds=1), "c1") is None
    assert answers == [None]
    assert claim(worker, site.now + timedelta(seconds=1), "c2") is not None


def test_an_image_that_the_queue_forbids_is_named_and_charged_to_nobody(site: Scenario) -> None:
    site.queue.allowed_images = "\n".join(["podium/*", *(f"registry{n}.example.org/gap:*" for n in range(80))])
    site.queue.save()
    site.phase.docker_image = "evil/miner:latest"
    site.phase.save()
    submission = site.submit()
    fine = site.submit(phase=site.sealed, at=site.now + timedelta(seconds=1))
    run = claim(site.worker(), site.now + timedelta(seconds=1))
    assert run is not None
    assert run.submission_id == fine.pk
    submission.refresh_from_db()
    refused = submission.runs.get()
    assert (submission.status, submission.reason, submission.is_charged, refused.code) == (
        "failed",
        "setup_error",
        False,
        "image_forbidden",
    )
    assert "evil/miner:latest is not allowed on the queue" in refused.detail
    assert refused.detail.endswith("registry3.example.org/gap:* and 76 more.")


def test_a_drained_worker_gets_nothing(site: Scenario) -> None:
    worker = site.worker()
    worker.drained_at = site.now
    worker.save()
    site.submit()
    assert claim(worker, site.now) is None


def test_a_worker_that_only_scores_or_only_ingests_gets_the_runs_it_may_have(site: Scenario) -> None:
    ingests, scores = site.worker(), site.worker()
    ingests.role, scores.role = ComputeWorker.Role.INGESTION, ComputeWorker.Role.SCORING
    ingests.save()
    scores.save()
    code, prediction = site.submit(kind=Kind.CODE), site.submit()
    run = claim(scores, site.now)
    assert run is not None
    assert run.submission_id == prediction.pk
    assert claim(scores, site.now) is None
    run = claim(ingests, site.now)
    assert run is not None
    assert run.submission_id == code.pk


def test_what_runs_beside_scoring_cannot_be_kept_apart_and_does_not_wait_for_ever(site: Scenario) -> None:
    task = site.phase.tasks.get()
    task.ingestion_program, task.ingestion_only_during_scoring = task.scoring_program, True
    task.save()
    submission = site.submit(kind=Kind.CODE)
    for role in (ComputeWorker.Role.INGESTION, ComputeWorker.Role.SCORING):
        worker = site.worker()
        worker.role = role
        worker.save()
        assert claim(worker, site.now) is None, "neither sees both the code and the labels"
    site.queue.separate_scoring = True
    site.queue.save()
    worker = ComputeWorker.objects.select_related("queue").get(pk=worker.pk)
    assert claim(worker, site.now) is None
    submission.refresh_from_db()
    run = submission.runs.get()
    assert (run.state, run.reason, run.code, submission.is_charged) == ("failed", "setup_error", "inseparable", False)


def test_a_code_submission_that_is_only_copied_needs_no_worker_that_ingests(site: Scenario) -> None:
    site.phase.as_on_codabench = True
    site.phase.save()
    site.submit(kind=Kind.CODE)
    Submission.objects.update(program="")
    ingests, scores = site.worker(), site.worker()
    ingests.role, scores.role = ComputeWorker.Role.INGESTION, ComputeWorker.Role.SCORING
    ingests.save()
    scores.save()
    assert claim(ingests, site.now) is None
    run = claim(scores, site.now)
    assert run is not None
    assert [stage.name for stage in job_for(run).stages] == ["scoring"]

"""Leases, attempts, heartbeats, answers: what a worker can and cannot do to a run."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction

from competitions.catalog.models import Competition
from competitions.compute.models import ComputeWorker
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.leases.reports import InvalidResult, Result
from competitions.runs.leases.retries import WORKER_BREAKER, expire_leases
from competitions.runs.models import Run, RunEvent
from competitions.runs.refusals import ALREADY_ENDED, LeaseLost, StillRunning
from competitions.runs.services import submission_cancel, submission_rerun
from competitions.runs.transitions import NEXT, IllegalMove, run_move
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL, HELD, REASONS, Blame, Kind, Reason, State
from competitions.teams.models import Membership, Team
from core.reconciler import reconcile
from tests.answers import read_result
from tests.refusals import refuses
from tests.scenario import Scenario, lease
from workers.protocol import results as workers_reasons

FINISHED = {"outcome": "finished", "scores": {"mae": 0.25}}


def failed(reason: Reason) -> dict[str, Any]:
    return {
        "outcome": "failed",
        "reason": reason,
        "code": "some_code",
        "detail": "It did not work.",
        "stages": [{"name": "ingestion"}],
    }


def result(body: dict[str, Any]) -> Result:
    return read_result(body, columns=["mae"])


def beat(site: Scenario, run: Run, state: State, *, seconds: float = 1) -> Run:
    return reports.run_heartbeat(**lease(run), state=state, meters={}, now=site.now + timedelta(seconds=seconds))


def expired(site: Scenario) -> Any:
    return site.now + timedelta(seconds=settings.LEASE_S + 1)


def test_a_run_goes_through_its_states_and_keeps_its_history(site: Scenario) -> None:
    submission = site.submit(kind=Kind.CODE)
    run = site.claim()
    for state in (State.PREPARING, State.INGESTING, State.SCORING):
        beat(site, run, state)
    reports.run_complete(**lease(run), result=result(FINISHED), now=site.now)
    submission.refresh_from_db()
    assert submission.status == State.FINISHED
    targets = list(RunEvent.objects.filter(run=run).values_list("target", flat=True))
    assert targets == [State.QUEUED, State.LEASED, State.PREPARING, State.INGESTING, State.SCORING, State.FINISHED]
    run.refresh_from_db()
    assert run.scores == {"mae": 0.25}
    assert run.lease_id is None


def test_late_and_repeated_reports_move_nothing_back(site: Scenario) -> None:
    site.submit(kind=Kind.CODE)
    run = site.claim()
    beat(site, run, State.SCORING)
    assert beat(site, run, State.PREPARING).state == State.SCORING


def test_a_move_that_is_not_in_the_table_is_an_error(site: Scenario) -> None:
    site.submit()
    run = Run.objects.get()
    moves = [(source, target) for source in State for target in State if target not in NEXT.get(source, ())]
    for source, target in moves:
        with pytest.raises(IllegalMove, match=f"from {source} to {target}"):
            run_move(Run(pk=run.pk, attempt=1, state=source), target=target, actor="test", now=site.now)
        assert Run.objects.values_list("state", flat=True).get() == State.QUEUED, (source, target)


def test_final_states_have_no_way_out(site: Scenario) -> None:
    assert not set(NEXT) & set(FINAL)
    assert set(NEXT) == {State.CHECKING, State.UNSTARTED, State.QUEUED, *HELD}


def test_the_same_answer_twice_gets_the_same_reply_and_one_score(site: Scenario) -> None:
    site.submit()
    run = site.claim()
    first = reports.run_complete(**lease(run), result=result(FINISHED), now=site.now)
    assert reports.run_complete(**lease(run), result=result(FINISHED), now=site.now) == first == State.FINISHED
    assert RunEvent.objects.filter(target=State.FINISHED).count() == 1


def test_a_lost_worker_costs_an_attempt_and_no_quota_and_its_late_answer_changes_nothing(site: Scenario) -> None:
    submission = site.submit()
    old = site.claim()
    assert expire_leases(now=expired(site)) == 1
    new = site.claim(at=expired(site))
    assert (new.pk, new.attempt) == (old.pk, 2)
    with pytest.raises(LeaseLost):
        reports.run_complete(**lease(old), result=result({"outcome": "finished", "scores": {"mae": 9.0}}), now=site.now)
    with pytest.raises(LeaseLost):
        beat(site, old, State.SCORING)
    reports.run_complete(**lease(new), result=result(FINISHED), now=expired(site))
    submission.refresh_from_db()
    assert (submission.status, submission.scores.get().values) == (State.FINISHED, {"mae": 0.25})


def test_a_heartbeat_keeps_a_lease_for_hours(site: Scenario) -> None:
    site.submit(kind=Kind.CODE)
    run = site.claim()
    for seconds in range(0, 4 * 3600, settings.HEARTBEAT_S * 40):
        beat(site, run, State.INGESTING, seconds=seconds)
        assert expire_leases(now=site.now + timedelta(seconds=seconds + settings.LEASE_S - 1)) == 0
    assert Run.objects.get().attempt == 1


def test_the_platforms_faults_are_tried_three_times_then_reported_and_never_charged(site: Scenario) -> None:
    submission = site.submit()
    for attempt in (1, 2, 3):
        run = site.claim(at=site.now + timedelta(hours=attempt))
        assert run.attempt == attempt
        body = failed(Reason.INFRASTRUCTURE)
        reports.run_complete(**lease(run), result=result(body), now=site.now + timedelta(hours=attempt))
    submission.refresh_from_db()
    assert (submission.status, submission.reason, submission.is_charged) == (State.FAILED, Reason.INFRASTRUCTURE, False)
    assert Run.objects.get().attempts.count() == 3


def test_the_second_attempt_comes_at_once_and_the_third_after_a_minute(site: Scenario) -> None:
    site.submit()
    for wait_s in (0, 60):
        run = site.claim(at=site.now + timedelta(minutes=5))
        reports.run_complete(**lease(run), result=result(failed(Reason.INFRASTRUCTURE)), now=site.now)
        assert Run.objects.get().not_before == site.now + timedelta(seconds=wait_s)


def fail_on(site: Scenario, worker: ComputeWorker, team: Team, body: dict[str, Any]) -> ComputeWorker:
    """A new submission of the team, as it is answered by this worker, which is read anew."""
    run = Run.objects.get(submission=site.submit(team=team))
    Run.objects.exclude(pk=run.pk).update(not_before=site.now + timedelta(days=1))  # out of the way
    claimed = site.claim(worker)
    assert claimed.pk == run.pk
    reports.run_complete(**lease(claimed), result=result(body), now=site.now)
    return ComputeWorker.objects.get(pk=worker.pk)


def test_a_worker_with_faults_of_three_teams_in_a_row_is_quarantined_and_a_success_in_between_counts(
    site: Scenario,
) -> None:
    worker, teams, fault = site.worker(), [site.team, site.join(), site.join()], failed(Reason.INFRASTRUCTURE)
    site.phase.max_submissions_per_day = None
    site.phase.save()
    answers = [(0, fault), (1, fault), (2, FINISHED), (0, fault), (1, fault), (2, fault)]
    for number, (team, body) in enumerate(answers):
        worker = fail_on(site, worker, teams[team], body)
        assert (worker.quarantined_at is not None) == (number == 5)


def test_one_team_quarantines_no_worker_with_however_many_runs(site: Scenario) -> None:
    """Nor do the people of one team, by teams of theirs in other competitions."""
    worker, fault = site.worker(), failed(Reason.INFRASTRUCTURE)
    site.phase.max_submissions_per_day = None
    site.phase.save()
    for _ in range(2 * WORKER_BREAKER):
        worker = fail_on(site, worker, site.team, fault)
    assert (worker.quarantined_at, worker.infrastructure_failures) == (None, 1)
    of_same_person = site.join()
    other = Competition.objects.create(slug="other", title="Other", queue=site.queue)
    Membership.objects.filter(team=of_same_person).update(user=site.member(), competition=other)
    ComputeWorker.objects.update(failed_teams=[of_same_person.pk])
    worker = fail_on(site, ComputeWorker.objects.get(pk=worker.pk), site.team, fault)
    assert worker.failed_teams == [of_same_person.pk]


def test_a_refusal_before_any_container_says_nothing_of_a_worker_that_fails(site: Scenario) -> None:
    worker, fault = site.worker(), failed(Reason.INFRASTRUCTURE)
    refusal = failed(Reason.PROGRAM_ERROR) | {"stages": []}
    for team, body in ((site.team, fault), (site.join(), refusal)):
        worker = fail_on(site, worker, team, body)
    assert worker.infrastructure_failures == 1


@pytest.mark.parametrize("code", ["mirror_unreachable", "image_pull_failed"])
def test_what_every_host_would_fail_on_counts_against_no_worker(site: Scenario, code: str) -> None:
    worker = site.worker()
    for team in (site.team, site.join(), site.join()):
        worker = fail_on(site, worker, team, failed(Reason.INFRASTRUCTURE) | {"code": code})
    assert worker.infrastructure_failures == 0


def test_one_bad_run_does_not_quarantine_the_only_worker(site: Scenario) -> None:
    worker = site.worker()
    site.submit()
    for hours in (0, 1, 2):
        run = site.claim(worker, at=site.now + timedelta(hours=hours))
        reports.run_complete(**lease(run), result=result(failed(Reason.INFRASTRUCTURE)), now=site.now)
    worker.refresh_from_db()
    assert (worker.quarantined_at, worker.infrastructure_failures) == (None, 1)


def test_a_cancelled_run_that_is_released_is_cancelled(site: Scenario) -> None:
    submission = site.submit()
    run = site.claim()
    submission_cancel(submission=submission, actor="test", now=site.now)
    assert reports.run_release(**lease(run), note="", now=site.now) == State.CANCELLED


def test_an_answer_without_meters_keeps_those_of_the_last_heartbeat(site: Scenario) -> None:
    site.submit(kind=Kind.CODE)
    run = site.claim()
    reports.run_heartbeat(**lease(run), state=State.INGESTING, meters={"wall_s": 3.0}, now=site.now)
    reports.run_complete(**lease(run), result=result(FINISHED), now=site.now)
    assert Run.objects.get().meters == {"wall_s": 3.0}


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_says_whose_fault_it_is_and_what_to_do(site: Scenario, reason: Reason) -> None:
    info = REASONS[reason]
    ran = reason != Reason.FILE_INVALID
    assert info.charged == (info.blame == Blame.PARTICIPANT and ran)
    assert info.advice.endswith(".")


@pytest.mark.parametrize("reason", [Reason(reason) for reason in workers_reasons.Reason if reason != "infrastructure"])
def test_participants_and_organizers_faults_are_final_at_the_first_attempt(site: Scenario, reason: Reason) -> None:
    submission = site.answer(site.submit(kind=Kind.CODE), failed(reason))
    assert (submission.status, submission.reason) == (State.FAILED, reason)
    assert submission.is_charged == REASONS[reason].charged
    assert not submission.scores.exists()


def test_what_waits_is_cancelled_at_once_and_costs_nothing(site: Scenario) -> None:
    submission = site.submit()
    submission_cancel(submission=submission, actor="test", now=site.now)
    submission.refresh_from_db()
    assert (submission.status, submission.is_charged) == (State.CANCELLED, False)
    with refuses(ALREADY_ENDED):
        submission_cancel(submission=submission, actor="test", now=site.now)


def test_what_runs_is_cancelled_by_its_worker_and_costs_quota(site: Scenario) -> None:
    submission = site.submit(kind=Kind.CODE)
    run = site.claim()
    beat(site, run, State.INGESTING)
    submission_cancel(submission=submission, actor="test", now=site.now)
    assert beat(site, run, State.INGESTING).cancel_requested_at is not None
    reports.run_complete(**lease(run), result=result({"outcome": "cancelled"}), now=site.now)
    submission.refresh_from_db()
    assert (submission.status, submission.is_charged) == (State.CANCELLED, True)


def test_a_cancelled_run_whose_worker_is_lost_is_not_queued_again(site: Scenario) -> None:
    submission = site.submit()
    site.claim()
    submission_cancel(submission=submission, actor="test", now=site.now)
    expire_leases(now=expired(site))
    submission.refresh_from_db()
    assert submission.status == State.CANCELLED


def test_a_released_run_keeps_its_attempt_and_its_place(site: Scenario) -> None:
    site.submit()
    run = site.claim()
    reports.run_release(**lease(run), note="", now=site.now)
    again = site.claim()
    assert (again.attempt, again.queued_at) == (1, run.queued_at)


def test_an_organizer_can_run_an_ended_submission_again_and_the_old_score_leaves_the_board(site: Scenario) -> None:
    submission = site.score(site.submit(), 0.5)
    assert site.phase.leaderboard.entries.count() == 1
    with_score = Submission.objects.get(pk=submission.pk)
    assert submission_rerun(submission=with_score, actor="admin:x", now=site.now) == 1
    assert site.phase.leaderboard.entries.count() == 0
    with pytest.raises(StillRunning):
        submission_rerun(submission=with_score, actor="admin:x", now=site.now)
    site.answer(Submission.objects.get(pk=submission.pk), FINISHED)
    assert site.phase.leaderboard.entries.get().values == {"mae": 0.25}
    assert Run.objects.get().attempt == 2


def test_the_team_with_the_fewest_runs_in_flight_is_next(site: Scenario) -> None:
    for _ in range(3):
        site.submit()
    other = site.join("Others")
    late = site.submit(team=other, at=site.now + timedelta(minutes=1))
    later = site.now + timedelta(minutes=2)
    assert site.claim(at=later).team == site.team
    assert site.claim(at=later).submission_id == late.pk
    assert site.claim(at=later).team == site.team


def test_a_phase_with_higher_priority_goes_first(site: Scenario) -> None:
    site.sealed.priority = 1
    site.sealed.save()
    site.submit()
    urgent = site.submit(phase=site.sealed)
    assert site.claim().submission_id == urgent.pk


def test_a_run_that_asks_for_a_gpu_goes_to_a_worker_that_has_one_free(site: Scenario) -> None:
    site.phase.gpus = 1
    site.phase.save()
    site.submit(kind=Kind.CODE)
    assert dispatch.run_claim(worker=site.worker(), free_gpus=0, now=site.now) is None
    assert site.claim(site.worker(gpus=1), free_gpus=1).gpus == 1


def test_a_paused_queue_hands_nothing_out(site: Scenario) -> None:
    site.submit()
    site.queue.is_paused = True
    site.queue.save()
    assert dispatch.run_claim(worker=site.worker(), free_gpus=0, now=site.now) is None


def test_another_queues_worker_gets_nothing(site: Scenario) -> None:
    from tests.scenario import scenario

    other = scenario()
    site.submit()
    assert dispatch.run_claim(worker=other.worker(), free_gpus=0, now=site.now) is None


def test_the_reconciler_wakes_for_what_waits_and_may_run_twice(site: Scenario, wakeups: list[str]) -> None:
    site.submit()
    site.claim()
    first = reconcile(now=expired(site))
    assert (first["leases_expired"], first["queues_woken"]) == (1, 1)
    again = reconcile(now=expired(site))
    assert (again["leases_expired"], again["queues_woken"]) == (0, 1)
    assert wakeups[-1] == site.queue.wakeup_queue


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "outcome"),
        ({"outcome": "finished"}, "scores"),
        ({"outcome": "finished", "scores": {"mae": float("nan")}}, "finite"),
        ({"outcome": "finished", "scores": {"mae": float("-inf")}}, "finite"),
        ({"outcome": "finished", "scores": {"mae": 10**400}}, "finite"),
        ({"outcome": "finished", "scores": {"mae": 1.0}, "host": []}, "host"),
        ({"outcome": "finished", "scores": {"mae": 1.0}, "host": {"gpus": 3}}, "gpus"),
        ({"outcome": "finished", "scores": {"mae": True}}, "finite"),
        ({"outcome": "finished", "scores": {"mae": "0.1"}}, "finite"),
        ({"outcome": "finished", "scores": {}}, "none of which is a column"),
        ({"outcome": "finished", "scores": {"bonus": 1.0}}, "none of which is a column"),
        ({"outcome": "failed", "reason": "because"}, "reason"),
        ({"outcome": "finished", "scores": {"mae": 1.0}, "stages": "x"}, "stages"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(body: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidResult, match=words):
        read_result(body, columns=["mae"])


def test_absurd_meters_and_texts_are_cut_to_what_can_be_stored(site: Scenario) -> None:
    body = FINISHED | {
        "detail": "a\x00b" * 5000,
        "stages": [{"name": "ingestion", "wall_s": float("inf"), "cpu_s": 10**400}],
    }
    submission = site.answer(site.submit(), body)
    run = submission.runs.get()
    assert "\x00" not in run.detail
    assert len(run.detail) <= 1000
    assert run.meters == {}


def test_the_database_refuses_a_held_run_without_a_lease_and_a_failure_without_a_reason(site: Scenario) -> None:
    site.submit()
    for changes in ({"state": State.LEASED}, {"state": State.FAILED}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Run.objects.update(**changes)


def test_the_receipt_names_everything_by_digest(site: Scenario) -> None:
    submission = site.score(site.submit(kind=Kind.CODE), 0.5)
    receipt = submission.runs.get().receipt
    assert receipt["inputs"]["submission"] == f"sha256:{submission.file_id}"
    assert set(receipt["inputs"]) == {"submission", "scoring_program", "reference_data", "input_data"}
    assert receipt["budget"]["time_limit_s"] == 600

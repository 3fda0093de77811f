"""Simultaneous submissions, claims and changes of teams on PostgreSQL; a control shows the race."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import requests
from django.conf import LazySettings
from django.db import transaction
from django.utils import timezone

from accounts.models import Scope, token_create
from competitions.catalog.models import (
    Leaderboard,
    Phase,
)
from competitions.compute.launchers import launcher_report
from competitions.compute.models import ComputeWorker, Launcher
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import environment_file_add
from competitions.leaderboards.models import Entry, Pick
from competitions.leaderboards.picks import pick_add
from competitions.leaderboards.ranking.rules import Rule
from competitions.people import deleting
from competitions.people.models import AccountDeletion
from competitions.resources import uploads
from competitions.runs import dispatch
from competitions.runs.leases import interrupts, reports
from competitions.runs.models import Run, RunEvent
from competitions.runs.queue.ranking import enter_queue
from competitions.runs.services import submission_cancel
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, State
from competitions.teams import merging
from competitions.teams import services as teams
from competitions.teams.links import link_accept, link_make
from competitions.teams.models import Membership, Team
from competitions.winners.models import Lane, Place
from competitions.winners.services import invite_next
from tests.answers import read_result
from tests.races import at_once, counting_before, gap_before_writing, meet, quota_counted_late, site, without_row_locks
from tests.scenario import FILE_NAME, Scenario, lease, person, prediction_bytes
from tests.soak import SOAKS
from workers.protocol.launching import LauncherReport

__all__ = ["site"]
MANY = 20 if SOAKS else 8
CLAIMS, WORKERS = (15, 6) if SOAKS else (6, 4)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "control: the race is real"])
def test_many_submissions_at_once_share_one_last_slot(site: Scenario, lock: bool) -> None:
    site.phase.max_submissions_per_day = 1
    site.phase.save()
    user = site.member()
    uploads = [site.upload(prediction_bytes(), user=user) for _ in range(MANY)]

    def submit(number: int) -> None:
        submission_create(
            NewSubmission(user=user, phase=site.phase, upload=uploads[number], kind=Kind.PREDICTION), now=site.now
        )

    with (
        contextlib.nullcontext() if lock else without_row_locks(),
        counting_before(gap_before_writing(MANY, lock=lock)),
    ):
        outcomes = at_once(MANY, submit)
    assert outcomes == (Counter(accepted=1, quota_used=MANY - 1) if lock else Counter(accepted=MANY))
    assert Submission.objects.count() == outcomes["accepted"]


def test_one_key_sent_ten_times_at_once_makes_one_submission_of_the_last_place(site: Scenario) -> None:
    site.phase.max_submissions_per_day = 1
    site.phase.save()
    user = site.member()
    upload = site.upload(prediction_bytes(), user=user)

    def submit(number: int) -> None:
        submission_create(
            NewSubmission(user=user, phase=site.phase, upload=upload, kind=Kind.PREDICTION, idempotency_key="k"),
            now=site.now,
        )

    with quota_counted_late():
        assert at_once(10, submit) == Counter(accepted=10)
    assert Submission.objects.count() == 1


def test_no_run_is_handed_out_twice(site: Scenario) -> None:
    site.phase.max_submissions_per_day = None
    site.phase.save()
    for _ in range(8):
        site.submit()
    workers = [site.worker() for _ in range(12)]
    claimed: list[Any] = []

    def claim(number: int) -> str:
        run = dispatch.run_claim(worker=workers[number], free_gpus=0, now=timezone.now())
        claimed.append(run.pk if run else None)
        return "nothing" if run is None else "a run"

    outcomes = at_once(12, claim)
    runs = [pk for pk in claimed if pk]
    assert len(runs) == len(set(runs))
    for worker in workers:  # whoever found every row locked comes again
        while dispatch.run_claim(worker=worker, free_gpus=0, now=timezone.now()):
            pass
    assert sum(outcomes.values()) == 12
    assert RunEvent.objects.filter(target=State.LEASED).count() == 8


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "control: the race is real"])
def test_two_claims_at_once_keep_to_a_teams_runs_in_flight(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, lock: bool
) -> None:
    site.queue.max_in_flight_per_team = 1
    site.queue.save()
    site.submit(), site.submit()
    workers = [site.worker(), site.worker()]

    def claim(worker: ComputeWorker) -> str:
        run = dispatch.run_claim(worker=worker, free_gpus=0, now=site.now)
        return "nothing" if run is None else "a run"

    if not lock:
        monkeypatch.setattr(dispatch, "Queue", mock.Mock())
    outcomes = meet(monkeypatch, (dispatch, "take_turn"), lambda: claim(workers[0]), lambda: claim(workers[1]))
    assert outcomes == ({"a run": 1, "nothing": 1} if lock else {"a run": 2})


def test_runs_of_two_priorities_are_claimed_and_given_back_at_once(site: Scenario) -> None:
    site.phase.max_submissions_per_day = None
    site.phase.save()
    for _ in range(8):
        site.submit()
    urgent = Run.objects.filter(pk__in=list(Run.objects.values_list("pk", flat=True)[:4]))
    urgent.update(priority=5)
    with transaction.atomic():
        enter_queue(urgent, now=site.now)
    workers = [site.worker() for _ in range(WORKERS)]

    def claim_and_give_back(number: int) -> None:
        for _ in range(CLAIMS):
            if run := dispatch.run_claim(worker=workers[number], free_gpus=0, now=timezone.now()):
                reports.run_release(**lease(run), note="", now=timezone.now())

    assert at_once(len(workers), claim_and_give_back) == Counter({"accepted": len(workers)})


def test_an_answer_sent_by_five_threads_counts_once(site: Scenario) -> None:
    site.submit()
    run = site.claim(at=timezone.now())
    result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])

    def complete(number: int) -> str:
        return reports.run_complete(**lease(run), result=result, now=timezone.now())

    assert at_once(5, complete) == Counter({State.FINISHED: 5})
    assert Entry.objects.get().submissions == 1


def test_cancel_and_finish_at_once_end_in_one_final_state(site: Scenario) -> None:
    for _ in range(5):
        submission = site.submit()
        run = site.claim(at=timezone.now())
        result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])

        def act(number: int, submission: Submission = submission, run: Run = run, result: Any = result) -> Any:
            if number:
                return submission_cancel(submission=submission, actor="test", now=timezone.now())
            return reports.run_complete(**lease(run), result=result, now=timezone.now())

        at_once(2, act)
        submission.refresh_from_db()
        assert submission.status == State.FINISHED
        assert RunEvent.objects.filter(run=run, target__in=[State.FINISHED, State.CANCELLED]).count() == 1


def test_two_invited_people_share_the_last_place_of_a_team(site: Scenario) -> None:
    site.competition.max_team_size = 3
    site.competition.save()
    people = [person() for _ in range(2)]
    invitations = []
    for user in people:
        teams.register(user=user, competition=site.competition, rules_version=1, now=site.now)
        invitations.append(teams.invite(team=site.team, by=site.team.captain, person=user.username, now=site.now))
    site.competition.max_team_size = 2
    site.competition.save()

    def accept(number: int) -> None:
        teams.invitation_accept(invitation=invitations[number], by=people[number], now=timezone.now())

    assert at_once(2, accept) == Counter(accepted=1, team_full=1)
    assert site.team.memberships.count() == 2


def test_one_person_founds_one_team_however_often_they_click(site: Scenario) -> None:
    user = person()
    teams.register(user=user, competition=site.competition, rules_version=1, now=site.now)

    def found_team(number: int) -> None:
        teams.team_create(user=user, competition=site.competition, name=f"Team {number}", now=timezone.now())

    outcomes = at_once(4, found_team)
    assert outcomes == Counter(accepted=1, already_in_a_team=3)
    assert Team.objects.filter(memberships__user=user).count() == 1


def test_many_posts_at_once_over_http_share_one_last_slot(site: Scenario, live_server: Any) -> None:
    site.phase.max_submissions = 1
    site.phase.save()
    expires_at = timezone.now() + timedelta(hours=1)
    _, secret = token_create(user=site.member(), name="robot", scopes=[Scope.SUBMIT], expires_at=expires_at)

    def post(number: int) -> str:
        answer = requests.post(
            f"{live_server.url}/api/v1/submissions/",
            headers={"Authorization": f"Bearer {secret}"},
            data={"phase": site.phase.pk, "kind": "prediction"},
            files={"file": (FILE_NAME, prediction_bytes())},
            timeout=60,
        )
        return "accepted" if answer.status_code == 201 else str(answer.json()["code"])

    assert at_once(MANY, post) == Counter(accepted=1, quota_used=MANY - 1)
    assert Submission.objects.count() == 1


def test_submissions_made_while_teams_merge_belong_to_the_team_that_stays(site: Scenario) -> None:
    other = site.join("Other team")
    proposal = merging.merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)
    uploads = [site.upload(prediction_bytes(), FILE_NAME, user=other.captain) for _ in range(6)]

    def act(number: int) -> str:
        if number == 6:
            merging.merge_accept(proposal=proposal, by=other.captain, now=site.now)
            return "merged"
        submission_create(
            NewSubmission(user=other.captain, phase=site.phase, upload=uploads[number], kind=Kind.PREDICTION),
            now=site.now,
        )
        return "submitted"

    outcomes = at_once(7, act)
    assert outcomes["merged"] == 1
    assert set(outcomes) <= {"merged", "submitted", "team_merged", "quota_used"}, outcomes
    assert Submission.objects.filter(team=site.team).count() == outcomes["submitted"]
    assert not Submission.objects.filter(team=other).exists()
    assert not Run.objects.filter(team=other).exists()


def test_weights_that_come_while_teams_merge_are_not_left_with_the_team_that_goes(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = site.join("Other team")
    proposed = merging.merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True, own_weights=True)
    upload = site.upload(b"weights", "w.bin", user=other.captain)

    def add() -> None:
        environment_file_add(
            user=other.captain,
            competition=site.competition,
            kind=EnvironmentFile.Kind.WEIGHTS,
            name="w",
            upload=upload,
            now=site.now,
        )

    merge = functools.partial(merging.merge_accept, proposal=proposed, by=other.captain, now=site.now)
    assert meet(monkeypatch, (merging, "_locked_pair"), merge, add) == {"accepted": 1, "no_team": 1}
    add()
    assert EnvironmentFile.objects.get().team == site.team


def test_of_a_proposal_that_is_accepted_and_withdrawn_at_once_one_answer_counts(site: Scenario) -> None:
    other = site.join("Other team")
    proposal = merging.merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)

    def act(number: int) -> str:
        if number % 2:
            merging.merge_withdraw(proposal=proposal, by=site.team.captain, now=site.now)
            return "withdrawn"
        merging.merge_accept(proposal=proposal, by=other.captain, now=site.now)
        return "accepted"

    outcomes = at_once(6, act)
    assert outcomes["withdrawn"] + outcomes["accepted"] == 1, outcomes
    other.refresh_from_db()
    assert (other.merged_into_id is not None) == bool(outcomes["accepted"])


def test_inviting_many_times_at_once_fills_the_places_once(site: Scenario) -> None:
    for name in ("aa", "bb", "cc", "dd"):
        site.score(site.submit(team=site.join(name)), 0.5)
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=site.now)
    lane = Lane.objects.create(leaderboard=site.phase.leaderboard, top=2)
    outcomes = at_once(8, lambda _: len(invite_next(lane=lane, actor="test", now=site.now)) and None)
    assert outcomes == Counter(accepted=1, nobody_left=7)
    assert Place.objects.count() == 2


def test_a_launcher_reports_two_jobs_while_the_run_of_the_second_is_handed_back(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs move the turns of one team, each behind its own submission."""
    launcher = Launcher.objects.create(name="lab")
    launcher.queues.add(site.queue)
    runs, jobs = [], []
    for number in ("17", "18"):
        site.submit()
        worker = site.worker()
        ComputeWorker.objects.filter(pk=worker.pk).update(job=number)
        runs.append(site.claim(worker))
        jobs.append({"id": number, "queue": site.queue.name, "kind": "gpu", "submitted_at": 1_900_000_000})
    ends = [job | {"state": "ended", "end": "preempted"} for job in jobs]
    report = LauncherReport.model_validate({"source": "lab", "version": "1", "is_complete": False, "jobs": ends})
    outcomes = meet(
        monkeypatch,
        (interrupts, "give_turn_back"),
        lambda: str(launcher_report(launcher, report, now=site.now)),
        lambda: interrupts.run_interrupt(**lease(runs[1]), detail="The job ends.", now=site.now),
    )
    assert outcomes == {"2": 1, State.QUEUED: 1}
    states = Run.objects.values_list("state", "attempt", "faults")
    assert list(states) == [(State.QUEUED, 2, 0)] * 2


def test_an_account_ends_while_a_team_mate_chooses_what_counts(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule=Rule.SELECTED)
    board = Leaderboard.objects.select_related("phase").get(phase=site.phase)
    submission, captain, leaving = site.score(site.submit(), 0.5), site.member(), person()
    Membership.objects.create(team=site.team, user=leaving, competition=site.competition, joined_at=site.now)
    AccountDeletion.objects.create(user=leaving, asked_at=site.now, due_at=site.now)
    outcomes = meet(
        monkeypatch,
        (deleting, "boards_follow_person"),
        lambda: deleting.account_delete(leaving.pk, now=site.now),
        lambda: pick_add(board=board, submission=submission, by=captain, now=site.now),
    )
    assert outcomes == {"accepted": 2}
    assert (list(site.team.members.all()), Pick.objects.count()) == ([captain], 1)


def test_nobody_joins_a_team_whose_captains_account_is_about_to_end(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.score(site.submit(), 0.5)
    captain, joining = site.member(), person()
    teams.register(user=joining, competition=site.competition, rules_version=1, now=site.now)
    link = link_make(team=site.team, by=captain, max_uses=1, days=1, now=site.now)
    AccountDeletion.objects.create(user=captain, asked_at=site.now, due_at=site.now)
    outcomes = meet(
        monkeypatch,
        (deleting, "obstacles"),
        lambda: deleting.account_delete(captain.pk, now=site.now),
        lambda: link_accept(link=link, by=joining, now=site.now),
    )
    assert outcomes == {"accepted": 1, "invitation_link_over": 1}
    assert not site.team.members.exists()


def test_uploads_that_begin_at_once_keep_to_the_limit_of_an_hour(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    settings.UPLOADS_PER_HOUR = 3
    user, count_room = site.member(), uploads.upload_room_used

    def slowly(*arguments: Any, **options: Any) -> int:
        time.sleep(0.05)
        return count_room(*arguments, **options)

    monkeypatch.setattr(uploads, "upload_room_used", slowly)
    outcomes = at_once(8, lambda _: uploads.upload_begin(user=user, file_name="x", size_bytes=1, now=site.now))
    assert outcomes == {"accepted": 3, "too_many_uploads": 5}


def test_two_slots_of_a_worker_that_fail_at_once_both_count(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, barrier, keep_usage = site.worker(), threading.Barrier(2), reports.keep_usage
    sent = [site.submit(team=team) for team in (site.team, site.join())]
    runs = [site.claim(worker) for _ in sent]
    failed = read_result({"outcome": "failed", "reason": "infrastructure", "code": "engine_lost"}, columns=["mae"])

    def together(*arguments: Any) -> None:
        barrier.wait(timeout=30)  # both have read their run by now
        keep_usage(*arguments)

    monkeypatch.setattr(reports, "keep_usage", together)
    answers = at_once(2, lambda number: reports.run_complete(**lease(runs[number]), result=failed, now=site.now))
    assert answers == {State.QUEUED: 2}
    worker.refresh_from_db()
    assert (worker.infrastructure_failures, set(worker.failed_teams)) == (2, {run.team_id for run in runs})


def test_a_worker_claims_a_run_of_a_team_while_it_hands_another_back(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that ends refers to the worker, which the claim has locked before the turns."""
    worker = site.worker()
    site.submit(), site.submit()
    run = site.claim(worker)
    outcomes = meet(
        monkeypatch,
        (dispatch, "fitting_runs"),
        lambda: dispatch.run_claim(worker=worker, free_gpus=0, now=site.now, claim_id="c1"),
        lambda: interrupts.run_interrupt(**lease(run), detail="The job ends.", now=site.now),
    )
    assert outcomes == {"accepted": 1, State.QUEUED: 1}
    assert Counter(Run.objects.values_list("state", flat=True)) == {State.LEASED: 1, State.QUEUED: 1}

"""Organizers start submissions by hand: what waits, who starts it, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Scope, User, token_create
from competitions.catalog.changes.change import change_impact
from competitions.catalog.models import Competition
from competitions.compute.models import Queue
from competitions.organize.workspace.overview import attention_items, queue_state
from competitions.runs.models import Run
from competitions.runs.refusals import NOTHING_TO_START
from competitions.runs.reruns import submission_repeat
from competitions.runs.services import (
    MOST_AT_ONCE,
    submission_cancel,
    submission_rerun,
    submission_start,
    unstarted_submissions,
    waiting_start,
)
from competitions.submissions.models import Submission
from competitions.submissions.quota import allowances
from competitions.submissions.services import submission_disqualify
from competitions.submissions.states import Kind, State
from core.reconciler import reconcile
from tests.background import run_background
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import ROWS, Scenario, prediction_bytes, statuses
from tests.smoke import with_smoke_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def held(site: Scenario) -> Scenario:
    """The site, whose competition's organizers start submissions."""
    site.competition.auto_run_submissions = False
    site.competition.save()
    for phase in site.phases.values():
        phase.competition.refresh_from_db()
    return site


def start(site: Scenario, submission: Submission) -> int:
    return submission_start(submission=submission, by=site.organizer, now=site.now)


def api(user: User, scope: Scope = Scope.ORGANIZE) -> Any:
    expires_at = timezone.now().replace(year=2099)
    _, secret = token_create(user=user, name="t", scopes=[scope, Scope.READ], expires_at=expires_at)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def test_a_submission_waits_until_an_organizer_starts_it_and_counts_as_usual(held: Scenario) -> None:
    submission = held.submit()
    assert (submission.status, submission.checked_at is not None) == (State.UNSTARTED, True)
    assert allowances(team_id=held.team.pk, phase=held.phase, now=held.now)[0].used == 1
    assert held.claim_nothing()
    reconcile(now=held.now)
    assert held.claim_nothing(), "nothing but an organizer starts it"
    page = body_text(user_client(held.member()).get(f"/submissions/{submission.pk}/"))
    assert "is waiting for the organizers to start it" in page
    assert start(held, submission) == 1
    assert held.score(submission, 0.5).status == State.FINISHED
    assert allowances(team_id=held.team.pk, phase=held.phase, now=held.now)[0].used == 1
    with refuses(NOTHING_TO_START, match="its state is “finished”"):
        start(held, submission)


def test_a_file_that_is_wrong_never_waits_for_the_organizers(held: Scenario) -> None:
    wrong = prediction_bytes(y_pred=np.full(ROWS, np.nan, dtype=np.float32))
    assert held.submit(content=wrong).status == State.FAILED


def test_what_waits_is_cancelled_by_its_team_at_no_cost(held: Scenario) -> None:
    submission = held.submit()
    submission_cancel(submission=submission, actor="user:x", now=held.now)
    submission.refresh_from_db()
    assert (submission.status, submission.is_charged) == (State.CANCELLED, False)


def test_it_runs_on_the_queue_that_the_competition_has_when_it_is_started(held: Scenario) -> None:
    submission = held.submit()
    Competition.objects.filter(pk=held.competition.pk).update(queue=Queue.objects.create(name="later"))
    start(held, Submission.objects.get(pk=submission.pk))
    assert Run.objects.get(submission=submission).queue.name == "later"


def test_a_smoke_run_begins_at_once_and_the_rest_waits(held: Scenario) -> None:
    with_smoke_run(held)
    submission = held.submit(kind=Kind.CODE)
    assert submission.status == State.QUEUED
    held.answer(submission, {"outcome": "finished", "scores": {"mae": 0.9}})
    assert (submission.status, held.claim_nothing()) == (State.UNSTARTED, True)
    start(held, submission)
    assert held.score(submission, 0.5).status == State.FINISHED


def test_what_organizers_run_again_is_started_by_that(held: Scenario) -> None:
    submission = held.submit()
    start(held, submission)
    held.score(submission, 0.5)
    assert submission_repeat(submission=submission, by=held.organizer, now=held.now).status == State.QUEUED
    Submission.objects.filter(pk=submission.pk).update(checked_at=None)  # as of a file that had been refused
    submission_rerun(submission=Submission.objects.get(pk=submission.pk), actor="organizer:x", now=held.now)
    run_background(at=held.now)
    assert statuses([submission]) == [State.QUEUED]


def test_the_workspace_starts_one_or_all_that_wait(held: Scenario) -> None:
    first, second, third, off = (held.submit() for _ in range(4))
    submission_disqualify(submission=off, reason="Copied", now=held.now)
    idle = queue_state(held.competition.queue, held.now)
    text = next(item.text for item in attention_items(held.competition, idle, now=held.now))
    assert text == "3 submissions wait for you to start them."
    organizer = user_client(held.organizer)
    list_page = reverse("organize:submissions", args=[held.competition.slug])
    assert "3 submissions wait for you to start them." in body_text(organizer.get(list_page))
    first_start = reverse("organize:submission-start", args=[held.competition.slug, first.pk])
    assert f"#{first.pk} was started" in body_text(organizer.post(first_start, follow=True))
    assert "does not wait to be started" in body_text(organizer.post(first_start, follow=True)), (
        "a second press says so"
    )
    chosen = {"action": "start", "chosen": [second.pk]}
    assert "1 of 1 started" in body_text(organizer.post(list_page, chosen, follow=True))
    everything = reverse("organize:submissions-start", args=[held.competition.slug])
    assert user_client(held.member()).post(everything).status_code == 404
    assert statuses([third]) == [State.UNSTARTED]
    assert "1 submission started." in body_text(organizer.post(everything, follow=True))
    assert statuses([first, second, third, off]) == [State.QUEUED, State.QUEUED, State.QUEUED, State.UNSTARTED]


def test_one_press_starts_so_many_and_says_how_many_still_wait(held: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_AT_ONCE > 2
    monkeypatch.setattr("competitions.runs.services.MOST_AT_ONCE", 2)
    submissions = [held.submit() for _ in range(3)]
    assert waiting_start(competition=held.competition, actor="organizer:x", now=held.now) == (2, 1)
    assert statuses(submissions) == [State.QUEUED, State.QUEUED, State.UNSTARTED], "the oldest first"
    answer = api(held.organizer).post(f"/api/v1/competitions/{held.competition.slug}/submissions/start/")
    assert answer.json() == {"started": 1, "waiting": 0}


def test_programs_start_it_by_both_apis_with_the_right_of_organizers(held: Scenario) -> None:
    first, second = held.submit(), held.submit()
    ours, theirs = f"/api/v1/submissions/{first.pk}/start/", f"/api/submissions/{second.pk}/run_submission/"
    for path in (ours, theirs):
        assert api(held.member()).post(path).status_code == 403
        assert api(held.organizer, Scope.SUBMIT).post(path).status_code == 403
    assert statuses([first, second]) == [State.UNSTARTED, State.UNSTARTED]
    shape = api(held.organizer).get(f"/api/submissions/{second.pk}/").json()
    assert (shape["status"], shape["auto_run"]) == ("Submitting", False)
    assert api(held.organizer).post(ours).json()["status"] == "queued"
    assert api(held.organizer).post(theirs).json() == {"id": second.pk}
    assert statuses([first, second]) == [State.QUEUED, State.QUEUED]
    again = api(held.organizer).post(theirs)
    assert (again.status_code, again.json()["code"]) == (409, "nothing_to_start")


def test_the_settings_form_says_what_the_change_does(held: Scenario) -> None:
    held.submit()
    on = change_impact(held.competition, {"auto_run_submissions": True}, held.now)
    assert on == [
        "1 submission still waits for an organizer: see the page Submissions. New submissions will run at once."
    ]
    off = change_impact(held.competition, {"auto_run_submissions": False}, held.now)
    assert off == ["New submissions wait, once their file is checked, until an organizer starts them."]
    assert unstarted_submissions(held.competition).count() == 1

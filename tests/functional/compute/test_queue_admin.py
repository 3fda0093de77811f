"""Queues of administrators and organizers in the admin, bulk actions that ask first, and what a team sees while it waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from competitions.compute.models import ComputeWorker, Queue, queue_by_token
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.queue.positions import expected_start, queue_positions
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from tests.admin_forms import form_fields
from tests.answers import read_result
from tests.permissions import user_client
from tests.scenario import Scenario, lease, person, scenario, statuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> Scenario:
    return scenario(max_submissions_per_day=None)


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def act(client: Client, model: str, action: str, pks: list[int], **more: str) -> str:
    form = {"action": action, ACTION_CHECKBOX_NAME: [str(pk) for pk in pks], **more}
    answer = client.post(reverse(f"admin:{model}_changelist"), form, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def add_queue(client: Client, name: str) -> Queue:
    form = {
        "name": name,
        "pull_policy": "never",
        "allowed_images": "mine/*",
        "max_in_flight_per_team": "2",
        "max_image_bytes": "1000",
        "environment_time_limit_s": "60",
        "environment_bytes": "2000000",
        "workers-TOTAL_FORMS": "0",
        "workers-INITIAL_FORMS": "0",
    }
    answer = client.post(reverse("admin:compute_queue_add"), form)
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    return Queue.objects.get(name=name)


def test_an_organizer_makes_a_queue_and_its_token_is_shown_once(site: Scenario, organizer: Client) -> None:
    queue = add_queue(organizer, "my-gpus")
    assert (queue.owner, queue.max_in_flight_per_team, queue.pull_policy) == (site.organizer, 2, "never")
    page = act(organizer, "compute_queue", "issue_token", [queue.pk])
    secret = next(word for word in page.replace("<", " ").split() if word.startswith("podiumq_"))
    assert queue_by_token(secret) == queue
    assert secret not in organizer.get(reverse("admin:compute_queue_change", args=[queue.pk])).content.decode()
    for action in ("issue_token", "revoke_token"):
        assert "0 runs at work, 0 waiting" in act(organizer, "compute_queue", action, [queue.pk])
        assert queue_by_token(secret) == queue, "it ends once that is confirmed, and not by one click"
    act(organizer, "compute_queue", "revoke_token", [queue.pk], confirmed="yes")
    assert queue_by_token(secret) is None


def test_an_organizer_sees_and_changes_no_queue_but_their_own(site: Scenario, organizer: Client) -> None:
    own_queue = add_queue(organizer, "my-gpus")
    stranger = user_client(person(is_staff=True))
    assert stranger.get(reverse("admin:compute_queue_change", args=[own_queue.pk])).status_code == 302
    assert own_queue.name not in stranger.get(reverse("admin:compute_queue_changelist")).content.decode()
    act(stranger, "compute_queue", "pause", [own_queue.pk])
    act(organizer, "compute_queue", "issue_token", [site.queue.pk])
    own_queue.refresh_from_db()
    assert not own_queue.is_paused
    assert queue_by_token(site.token) == site.queue, "the shared queue's token still holds"


def test_an_organizer_sees_the_workers_of_their_queue_and_drains_one(site: Scenario, organizer: Client) -> None:
    site.queue.owner = site.organizer
    site.queue.save()
    worker = site.worker("gpu-box-1", gpus=1)
    page = organizer.get(reverse("admin:compute_queue_change", args=[site.queue.pk])).content.decode()
    assert "gpu-box-1" in page
    act(organizer, "compute_computeworker", "drain", [worker.pk])
    assert ComputeWorker.objects.exclude(drained_at=None).get() == worker
    act(organizer, "compute_computeworker", "undrain", [worker.pk])
    assert ComputeWorker.objects.get().drained_at is None


def test_pausing_and_resuming(site: Scenario) -> None:
    root = user_client(person(is_staff=True, is_superuser=True))
    act(root, "compute_queue", "pause", [site.queue.pk])
    site.submit()
    site.queue.refresh_from_db()
    assert site.queue.is_paused
    listed = root.get(reverse("admin:compute_queue_changelist")).content.decode()
    assert "0 of 0" in listed
    act(root, "compute_queue", "resume", [site.queue.pk])
    site.queue.refresh_from_db()
    assert site.claim().state == State.LEASED


def test_running_many_again_says_first_what_it_would_cost(site: Scenario, organizer: Client) -> None:
    submissions = [site.score(site.submit(), value) for value in (0.5, 0.25)]
    pks = [submission.pk for submission in submissions]
    page = act(organizer, "submissions_submission", "rerun", pks)
    assert "<strong>2 submissions</strong> with 2 runs: 0 waiting, 0 running, 2 ended" in page
    assert "at most 20 min" in page or "at most 20:00" in page, page[page.index("at most") :][:60]
    assert set(Submission.objects.values_list("status", flat=True)) == {State.FINISHED}, "nothing has happened yet"
    act(organizer, "submissions_submission", "rerun", pks, confirmed="yes")
    assert set(Submission.objects.values_list("status", flat=True)) == {State.QUEUED}


def test_cancelling_many_asks_first(site: Scenario, organizer: Client) -> None:
    pks = [site.submit().pk, site.submit().pk]
    assert "would be killed" in act(organizer, "submissions_submission", "cancel", pks)
    assert set(Submission.objects.values_list("status", flat=True)) == {State.QUEUED}
    act(organizer, "submissions_submission", "cancel", pks, confirmed="yes")
    assert set(Submission.objects.values_list("status", flat=True)) == {State.CANCELLED}


def test_more_submissions_than_a_form_has_fields_are_confirmed_and_no_other_is_touched(
    site: Scenario, organizer: Client, settings: Any
) -> None:
    submissions = [site.submit() for _ in range(12)]
    url = reverse("admin:submissions_submission_changelist")
    page = organizer.post(
        url, {"action": "cancel", ACTION_CHECKBOX_NAME: [str(submission.pk) for submission in submissions[:10]]}
    )
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 9
    assert organizer.post(url, form_fields(page) | {"action": ["cancel"]}).status_code == 302
    assert statuses(submissions) == [State.CANCELLED] * 10 + [State.QUEUED] * 2


def test_what_waits_moves_to_another_queue_and_what_runs_stays(site: Scenario, organizer: Client) -> None:
    other = add_queue(organizer, "my-gpus")
    foreign = Queue.objects.create(name="foreign", owner=person())
    first, second = site.submit(), site.submit()
    running = site.claim()
    pks = [first.pk, second.pk]
    form_page = act(organizer, "submissions_submission", "move", pks)
    assert "my-gpus" in form_page
    assert foreign.name not in form_page
    act(organizer, "submissions_submission", "move", pks, confirmed="yes", queue=foreign.name)
    assert set(Run.objects.values_list("queue", flat=True)) == {site.queue.pk}
    act(organizer, "submissions_submission", "move", pks, confirmed="yes", queue=other.name)
    assert dict(Run.objects.values_list("pk", "queue")) == {
        run.pk: (site.queue.pk if run.pk == running.pk else other.pk) for run in Run.objects.all()
    }
    assert Run.objects.exclude(pk=running.pk).get().events.latest("pk").note == "moved to the queue my-gpus"


def test_a_team_sees_its_place_in_fair_turns_and_when_it_may_start(site: Scenario) -> None:
    worker = site.worker()
    for seconds in (60, 60, 90):
        site.submit()
        run = site.claim(worker)
        body = {"outcome": "finished", "scores": {"mae": 0.5}}
        reports.run_complete(
            **lease(run), result=read_result(body, columns=["mae"]), now=site.now + timedelta(seconds=seconds)
        )
    for _ in range(5):
        site.submit()
    site.claim(worker)
    late = site.submit(team=site.join("Other"))
    run = late.runs.get()
    place = queue_positions([run])[run.pk].place
    assert place == 1, "the other team has four that wait and one that runs"
    start = expected_start(run, place, now=site.now)
    assert start is not None
    assert 0 <= start[0] < 35 < start[1] < 90
    page = user_client(site.member(late.team)).get(reverse("web:submission", args=[late.pk])).content.decode()
    assert "Waiting at place 1 of the queue" in page
    assert "the time of your upload is what counts" in page


def test_the_running_page_shows_processor_memory_and_the_projected_end(site: Scenario) -> None:
    submission = site.submit(kind=Kind.CODE)
    run = site.claim()
    meters = {"wall_s": 10.0, "cpu_s": 5.0, "memory_bytes": 2 << 30, "progress": {"fraction": 0.001}}
    Run.objects.filter(pk=run.pk).update(
        state=State.INGESTING, started_at=timezone.now() - timedelta(seconds=10), meters=meters
    )
    Submission.objects.filter(pk=submission.pk).update(status=State.INGESTING)
    page = user_client(site.member()).get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert 'value="0.500"' in page
    assert "at its current pace" not in page, "a thousandth is too little to go by"
    Run.objects.filter(pk=run.pk).update(meters=meters | {"progress": {"fraction": 0.5}})
    page = user_client(site.member()).get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert "at its current pace it finishes after" in page

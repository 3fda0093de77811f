"""Teams see a run's place, expected start, use of resources and expected end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.queue.positions import queue_positions, queue_wait
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from tests.answers import read_result
from tests.permissions import user_client
from tests.scenario import Scenario, lease, scenario

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> Scenario:
    return scenario(max_submissions_per_day=None)


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
    place = queue_positions([run], now=timezone.now())[run.pk].place
    assert place == 1, "the other team has four that wait and one that runs"
    start = queue_wait(run.queue, place, now=site.now)
    assert start is not None
    assert 0 <= start[0] < 35 < start[1] < 90
    page = user_client(site.member(late.team)).get(reverse("web:submission", args=[late.pk])).content.decode()
    assert "First in the queue" in page
    assert "the time of your upload is what counts" in page


def test_no_start_is_foretold_while_the_workers_are_silent(site: Scenario) -> None:
    for _ in range(3):
        site.score(site.submit(), 0.5)
    assert queue_wait(site.queue, 1, now=site.now + timedelta(seconds=59)) is not None
    assert queue_wait(site.queue, 1, now=site.now + timedelta(seconds=61)) is None


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

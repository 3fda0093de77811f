"""Claims follow the ranking to the end, and every page says the place that it gives."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from competitions.catalog.models import Phase
from competitions.compute.models import ComputeWorker
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.queue.positions import queue_positions
from competitions.submissions.states import State
from tests.answers import read_result
from tests.permissions import user_client
from tests.scenario import Scenario, lease, scenario
from tests.soak import examples

pytestmark = pytest.mark.django_db
Arrivals = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12)


class DispatchFollowsTheRanking(TestCase):
    """Claims follow the queue places to the end, whoever queued, runs or was served (hypothesis)."""

    @hypothesis_settings(max_examples=examples(16), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(arrivals=Arrivals, running=st.integers(0, 5), ended=st.integers(0, 3), cap=st.none() | st.integers(1, 2))
    def test_runs_are_claimed_in_the_order_of_their_places(
        self, arrivals: list[tuple[int, bool, int]], running: int, ended: int, cap: int | None
    ) -> None:
        site = scenario(max_submissions_per_day=None)
        teams = [site.team, *(site.join(f"Team {number}") for number in range(3))]
        urgent = Phase.objects.get(pk=site.sealed.pk)
        urgent.priority = 1
        urgent.save()
        at = site.now
        for team, is_urgent, seconds in arrivals:
            at += timedelta(seconds=seconds)
            site.submit(team=teams[team], phase=urgent if is_urgent else site.phase, at=at)
        worker = site.worker()
        for number in range(min(running, len(arrivals) - 1)):
            run = claim_at(worker, at + timedelta(seconds=number))
            if run is not None and number < ended:
                end(run, at)
        site.queue.max_in_flight_per_team = cap
        site.queue.save()
        worker.queue.refresh_from_db()
        waiting = Run.objects.filter(state=State.QUEUED).select_related("queue")
        positions = queue_positions(waiting, now=site.now)
        expected = sorted(positions, key=lambda pk: positions[pk].place or 0)
        claimed: list[UUID] = []
        while (run := claim_at(worker, at + timedelta(minutes=1 + len(claimed)))) is not None:
            claimed.append(run.pk)
        assert claimed == expected[: len(claimed)]
        assert cap is not None or len(claimed) == len(expected)


def claim_at(worker: ComputeWorker, at: datetime) -> Run | None:
    return dispatch.run_claim(worker=worker, free_gpus=0, now=at)


def end(run: Run, at: datetime) -> None:
    result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])
    reports.run_complete(**lease(run), result=result, now=at)


def test_list_page_and_api_say_the_same_place_for_runs_queued_at_one_instant(site: Scenario) -> None:
    other, third = site.join("Other"), site.join("Third")
    sent = [site.submit(), site.submit(team=other), site.submit(team=third)]
    for submission in sent:
        run = submission.runs.get()
        place = queue_positions([run], now=site.now)[run.pk].place
        client = user_client(site.member(submission.team))
        row = client.get(reverse("web:submission-row", args=[submission.pk])).content.decode()
        page = client.get(reverse("web:submission", args=[submission.pk])).content.decode()
        answer = client.get(reverse("api:submission", args=[submission.pk])).json()
        words = "First in the queue" if place == 1 else f"Waiting at place {place} of the queue"
        assert words in row
        assert words in page
        assert [each["queue_place"] for each in answer["runs"]] == [place]
    positions = queue_positions(Run.objects.filter(state=State.QUEUED).select_related("queue"), now=site.now)
    assert sorted(position.place or 0 for position in positions.values()) == [1, 2, 3]


def test_a_visitor_reads_no_place_of_others(client: Client, site: Scenario) -> None:
    submission = site.submit()
    assert client.get(reverse("api:submission", args=[submission.pk])).status_code == 401

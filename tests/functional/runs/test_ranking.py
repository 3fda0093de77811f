"""One order of waiting runs: what dispatch hands out is what pages and API say comes next."""

from __future__ import annotations

from collections import Counter
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
from competitions.runs.models import FILLING_PRIORITY, NEVER, Run, TeamTurn
from competitions.runs.queue.positions import queue_positions
from competitions.runs.queue.ranking import WaitingTeam, enter_queue, hand_outs, turns_repair
from competitions.runs.services import submission_cancel
from competitions.submissions.states import State
from tests.answers import read_result
from tests.permissions import client_of
from tests.scenario import NOON, Scenario, lease, scenario

pytestmark = pytest.mark.django_db
A, B, C = 1, 2, 3


def line(team: int, runs: int = 1, *, priority: int = 0, since_s: int = 0, served_s: int | None = None) -> WaitingTeam:
    served_at = NEVER if served_s is None else NOON + timedelta(seconds=served_s)
    return WaitingTeam(team, priority, NOON + timedelta(seconds=since_s), served_at, runs)


@pytest.mark.parametrize(
    ("waiting", "in_flight", "cap", "teams"),
    [
        pytest.param([line(A, 3), line(B, since_s=1)], {}, None, [A, B, A, A], id="teams take turns"),
        pytest.param([line(A), line(B, priority=1, since_s=9)], {}, None, [B, A], id="a higher priority goes before"),
        pytest.param([line(A, 2), line(B, 2, since_s=1)], {A: 1}, None, [B, A, B, A], id="fewest in flight"),
        pytest.param([line(A, served_s=5), line(B, served_s=1)], {}, None, [B, A], id="served longest ago"),
        pytest.param([line(A, served_s=-9), line(B, since_s=9)], {}, None, [B, A], id="never served is served first"),
        pytest.param([line(A, since_s=5), line(B, since_s=1)], {}, None, [B, A], id="waited longest"),
        pytest.param([line(A, 3), line(B, since_s=1)], {}, 1, [A, B, A, A], id="what is over the cap comes last"),
        pytest.param([line(A), line(B, priority=-5)], {A: 2}, 2, [B, A], id="a team at its cap lets others go before"),
        pytest.param(
            [line(A, 2, priority=FILLING_PRIORITY), line(B, priority=FILLING_PRIORITY, since_s=1)], {}, None, [A, A, B],
            id="runs that fill a board are nobody's turn",
        ),
        pytest.param([], {A: 1}, None, [], id="nothing waits"),
    ],
)  # fmt: skip
def test_who_is_next(waiting: list[WaitingTeam], in_flight: dict[int, int], cap: int | None, teams: list[int]) -> None:
    assert [team for team, _ in hand_outs(waiting, in_flight, cap=cap)] == teams


@given(
    st.lists(
        st.builds(line, st.integers(1, 5), st.integers(1, 4), priority=st.integers(-1, 1)),
        unique_by=lambda each: (each.team, each.priority),
    ),
    st.dictionaries(st.integers(1, 5), st.integers(1, 3)),
    st.none() | st.integers(1, 3),
)  # fmt: skip
def test_every_run_is_handed_out_once(waiting: list[WaitingTeam], in_flight: dict[int, int], cap: int | None) -> None:
    handed = Counter(hand_outs(waiting, in_flight, cap=cap))
    assert handed == Counter({(each.team, each.priority): each.runs for each in waiting})


Arrivals = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12)


class DispatchFollowsTheRanking(TestCase):
    """Hypothesis draws who queued what, who runs already and who was served when; claims then follow the places to the end."""

    @hypothesis_settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
        positions = queue_positions(waiting)
        expected = sorted(positions, key=lambda pk: positions[pk].place)
        claimed: list[UUID] = []
        while (run := claim_at(worker, at + timedelta(minutes=1 + len(claimed)))) is not None:
            claimed.append(run.pk)
        assert claimed == expected[: len(claimed)]
        assert cap is not None or len(claimed) == len(expected)


def claim_at(worker: ComputeWorker, at: datetime) -> Run | None:
    return dispatch.run_claim(worker=worker, free_gpus=0, now=at)


def end(run: Run, at: datetime) -> None:
    result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])
    dispatch.run_complete(**lease(run), result=result, now=at)


def test_list_page_and_api_say_the_same_place_for_runs_queued_at_one_instant(site: Scenario) -> None:
    other, third = site.join("Other"), site.join("Third")
    sent = [site.submit(), site.submit(team=other), site.submit(team=third)]
    for submission in sent:
        run = submission.runs.get()
        place = queue_positions([run])[run.pk].place
        client = client_of(site.member(submission.team))
        row = client.get(reverse("web:submission-row", args=[submission.pk])).content.decode()
        page = client.get(reverse("web:submission", args=[submission.pk])).content.decode()
        answer = client.get(reverse("api:submission", args=[submission.pk])).json()
        assert f"Waiting at place {place} of the queue" in row
        assert f"Waiting at place {place} of the queue" in page
        assert [each["queue_place"] for each in answer["runs"]] == [place]
    positions = queue_positions(Run.objects.filter(state=State.QUEUED).select_related("queue"))
    assert sorted(position.place for position in positions.values()) == [1, 2, 3]


def test_a_team_that_cancelled_everything_waits_no_more_and_one_that_was_forgotten_waits_again(site: Scenario) -> None:
    submission_cancel(submission=site.submit(), actor="test", now=site.now)
    turn = TeamTurn.objects.get()
    assert turn.waiting_since is not None, "a cancellation leaves it for the reconciler"
    assert turns_repair(now=site.now) == 1
    assert TeamTurn.objects.get().waiting_since is None
    site.submit()
    TeamTurn.objects.all().delete()
    assert turns_repair(now=site.now) == 1
    assert site.claim() is not None
    assert turns_repair(now=site.now) == 0


def test_a_team_keeps_its_turn_when_it_queues_again(site: Scenario) -> None:
    site.submit()
    run = site.claim()
    served = TeamTurn.objects.get()
    assert (served.served_at, served.waiting_since) == (site.now, None)
    again = Run.objects.filter(pk=run.pk)
    Run.objects.filter(pk=run.pk).update(state=State.QUEUED, lease_id=None, lease_expires_at=None, priority=3)
    enter_queue(again, now=site.now + timedelta(hours=1))
    turn = TeamTurn.objects.get(priority=3)
    assert (turn.served_at, turn.waiting_since) == (site.now, site.now + timedelta(hours=1))


def test_a_visitor_reads_no_place_of_others(client: Client, site: Scenario) -> None:
    submission = site.submit()
    assert client.get(reverse("api:submission", args=[submission.pk])).status_code == 401

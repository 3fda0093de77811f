"""One order of waiting runs, and the turns of teams that it follows from."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import islice
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoCaptureOnCommitCallbacks

from competitions.compute.models import Queue
from competitions.runs.models import FILLING_PRIORITY, NEVER, Run, TeamTurn
from competitions.runs.queue import ranking
from competitions.runs.queue.ranking import (
    WaitingTeam,
    enter_queue,
    hand_outs,
    next_teams,
    runs_in_flight,
    turns_repair,
)
from competitions.runs.services import submission_cancel
from competitions.submissions.states import State
from tests.scenario import NOON, Scenario

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
        pytest.param(
            [line(A, 3), line(B, since_s=1)], {B: 2}, None, [A, A, B, A], id="each run that is handed out counts"
        ),
        pytest.param([line(A, served_s=5), line(B, served_s=1)], {}, None, [B, A], id="served longest ago"),
        pytest.param([line(A, served_s=-9), line(B, since_s=9)], {}, None, [B, A], id="never served is served first"),
        pytest.param([line(A, since_s=5), line(B, since_s=1)], {}, None, [B, A], id="waited longest"),
        pytest.param([line(A, 3), line(B, since_s=1)], {}, 1, [A, B, A, A], id="what is over the cap comes last"),
        pytest.param([line(A), line(B, priority=-5)], {A: 2}, 2, [B, A], id="a team at its cap lets others go before"),
        pytest.param(
            [line(A, 2, priority=FILLING_PRIORITY), line(B, priority=FILLING_PRIORITY, since_s=1)],
            {},
            None,
            [A, A, B],
            id="runs that fill a board are nobody's turn",
        ),
        pytest.param([], {A: 1}, None, [], id="nothing waits"),
    ],
)
def test_who_is_next(waiting: list[WaitingTeam], in_flight: dict[int, int], cap: int | None, teams: list[int]) -> None:
    assert [team for team, _ in islice(hand_outs(waiting, in_flight, cap=cap), 10)] == teams


@given(
    st.lists(
        st.builds(line, st.integers(1, 5), st.integers(1, 4), priority=st.integers(-1, 1)),
        unique_by=lambda each: (each.team, each.priority),
    ),
    st.dictionaries(st.integers(1, 5), st.integers(1, 3)),
    st.none() | st.integers(1, 3),
)
def test_every_run_is_handed_out_once(waiting: list[WaitingTeam], in_flight: dict[int, int], cap: int | None) -> None:
    handed = Counter(islice(hand_outs(waiting, in_flight, cap=cap), 1000))
    assert handed == Counter({(each.team, each.priority): each.runs for each in waiting})


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


def turns() -> dict[tuple[str, int, int], tuple[object, object]]:
    """(served, waiting since) by queue, team and priority."""
    rows = TeamTurn.objects.values_list("queue__name", "team", "priority", "served_at", "waiting_since")
    return {(queue, team, priority): (served, since) for queue, team, priority, served, since in rows}


@pytest.fixture
def neighbours(site: Scenario) -> dict[tuple[str, int, int], tuple[object, object]]:
    """Turns of another queue, team and priority that nobody waits in, each served at another time."""
    other, team, later = Queue.objects.create(name="other"), site.join("Other"), NOON + timedelta(hours=1)
    TeamTurn.objects.create(queue=other, team=site.team, priority=0, served_at=later, waiting_since=None)
    TeamTurn.objects.create(queue=site.queue, team=team, priority=0, served_at=later, waiting_since=None)
    TeamTurn.objects.create(queue=site.queue, team=site.team, priority=5, served_at=NOON, waiting_since=None)
    return turns()


def test_a_run_is_its_teams_turn_on_its_queue_and_priority_alone(
    site: Scenario, neighbours: dict[tuple[str, int, int], tuple[object, object]]
) -> None:
    site.submit()
    turn_key = (site.queue.name, site.team.pk, 0)
    assert turns() == neighbours | {turn_key: (NOON, NOON)}, "served as its team was on this queue"
    enter_queue(Run.objects.all(), now=NOON + timedelta(hours=2))
    assert turns()[turn_key] == (NOON, NOON), "it waits since its first run came"


def test_a_turn_is_taken_on_its_queue_alone_and_a_team_waits_as_long_as_a_run_of_that_priority_does(
    site: Scenario, neighbours: dict[tuple[str, int, int], tuple[object, object]]
) -> None:
    turn_key, same_team, at = (
        (site.queue.name, site.team.pk, 0),
        (site.queue.name, site.team.pk, 5),
        NOON + timedelta(hours=2),  # unlike all neighbours
    )
    for _ in range(2):
        site.submit()
    urgent = site.submit().runs.get()
    Run.objects.filter(pk=urgent.pk).update(priority=5)
    site.submit(team=site.teams[1])  # waits on the same queue
    Run.objects.filter(submission__team=site.teams[1]).update(not_before=NOON + timedelta(days=1))
    enter_queue(Run.objects.filter(pk=urgent.pk), now=NOON)
    Run.objects.filter(pk=site.submit().runs.get().pk).update(queue=Queue.objects.get(name="other"))
    before = turns()
    site.claim(at=at)
    assert turns()[same_team] == (at, None), "it was this one, and none of its priority is left"
    assert turns()[turn_key] == (at, NOON), "others of the team wait"
    for _ in range(2):
        site.claim(at=at)
    assert turns()[turn_key] == (at, None)
    untouched = set(before) - {turn_key, same_team}
    assert {key: turns()[key] for key in untouched} == {key: before[key] for key in untouched}


def test_runs_on_workers_count_for_their_team_but_for_those_that_fill_a_board(site: Scenario) -> None:
    for team in (site.team, site.join(), site.team, site.team):
        site.submit(team=team)
    runs = [site.claim() for _ in range(3)]
    Run.objects.filter(pk=next(run.pk for run in runs if run.team_id != site.team.pk)).update(fills_board=True)
    assert runs_in_flight() == {site.team.pk: 2}


def test_the_database_names_the_first_teams_in_the_order_of_the_ranking(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "CANDIDATES", 2)
    late, served, urgent = (site.join(name).pk for name in ("late", "served", "urgent"))
    rows = [  # team, priority, waiting since, served
        (site.team.pk, 0, NOON + timedelta(hours=1), NEVER),
        (late, 0, NOON, NEVER),
        (served, 0, NOON - timedelta(hours=1), NOON),
        (urgent, 1, NOON + timedelta(hours=2), NOON),
    ]
    for team, priority, since, last in rows:
        site.submit(team=next(candidate for candidate in site.teams if candidate.pk == team))
        Run.objects.filter(team=team).update(priority=priority)
        TeamTurn.objects.filter(team=team).update(priority=priority, waiting_since=since, served_at=last)
    fitting = Run.objects.filter(state=State.QUEUED, queue=site.queue)
    assert list(next_teams(site.queue, fitting)) == [(urgent, 1), (late, 0)]
    assert list(next_teams(Queue.objects.create(name="other"), fitting)) == []
    assert list(next_teams(site.queue, fitting.filter(team=late))) == [(late, 0)]
    urgent_runs = fitting.filter(team=urgent)
    TeamTurn.objects.create(queue=site.queue, team_id=urgent, priority=0, served_at=NEVER, waiting_since=NOON)
    assert list(next_teams(site.queue, urgent_runs)) == [(urgent, 1)], "no other team or priority has a run that fits"
    TeamTurn.objects.filter(team=urgent).update(waiting_since=None)
    assert next(next_teams(site.queue, fitting)) == (late, 0), "it waits no more"
    Run.objects.filter(team=site.team).update(state=State.LEASED, lease_id=uuid4(), lease_expires_at=NOON)
    site.submit()
    assert list(next_teams(site.queue, fitting)) == [(late, 0), (served, 0), (site.team.pk, 0)]
    site.queue.max_in_flight_per_team = 1
    assert list(next_teams(site.queue, fitting)) == [(late, 0), (served, 0)], "the other is at the cap"
    site.queue.max_in_flight_per_team = 2
    assert len(list(next_teams(site.queue, fitting))) == 3


def test_workers_of_the_queue_are_woken_after_the_commit(
    site: Scenario, wakeups: list[str], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    site.submit()
    with django_capture_on_commit_callbacks(execute=True):
        enter_queue(Run.objects.all(), now=NOON)
    assert wakeups == [site.queue.wakeup_queue]


def test_the_reconciler_mends_the_turns_that_are_wrong_and_no_other(
    site: Scenario, neighbours: dict[tuple[str, int, int], tuple[object, object]]
) -> None:
    site.submit()
    right = turns()
    since = NOON + timedelta(minutes=3)
    TeamTurn.objects.filter(pk__in=[turn.pk for turn in TeamTurn.objects.all() if turn.waiting_since is None]).update(
        waiting_since=since
    )
    assert turns_repair(now=since) == len(neighbours), "nothing waits there"
    assert turns() == right
    team_turn = TeamTurn.objects.filter(queue=site.queue, team=site.team, priority=0)
    team_turn.update(waiting_since=None)
    assert turns_repair(now=since) == 1
    assert turns() == right | {(site.queue.name, site.team.pk, 0): (NOON, since)}
    team_turn.delete()
    assert turns_repair(now=since) == 1
    assert turns() == right | {(site.queue.name, site.team.pk, 0): (NOON, since)}
    assert turns_repair(now=since) == 0

"""Only one function moves runs: by the table, for who names the run's attempt and state."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest

from competitions.runs.models import Run, RunEvent, TeamTurn
from competitions.runs.transitions import NEXT, IllegalMove, run_fail, run_move, run_reopen, submission_status
from competitions.submissions.models import Submission
from competitions.submissions.signals import submission_settled
from competitions.submissions.states import FINAL, HELD, Reason, State
from tests.scenario import NOON, Scenario

pytestmark = pytest.mark.django_db


def moved(run: Run, source: State, target: State, site: Scenario, **changes: object) -> bool:
    attempt = changes.pop("attempt", run.attempt)
    assert isinstance(attempt, int)
    return run_move(
        Run(pk=run.pk, submission_id=run.submission_id, attempt=attempt, state=source),
        target=target,
        actor="test",
        now=site.now,
        **changes,  # type: ignore[arg-type]
    )


def waiting(site: Scenario) -> Run:
    return site.submit().runs.get()


@pytest.mark.parametrize("attempt", [0, 2])
def test_who_names_another_attempt_moves_nothing(site: Scenario, attempt: int) -> None:
    run = waiting(site)
    before = RunEvent.objects.count()
    assert not moved(run, State.QUEUED, State.CANCELLED, site, attempt=attempt)
    run.refresh_from_db()
    assert (run.state, RunEvent.objects.count()) == (State.QUEUED, before)
    assert moved(run, State.QUEUED, State.CANCELLED, site)


def test_who_names_another_state_moves_nothing(site: Scenario) -> None:
    run = waiting(site)
    assert not moved(run, State.SCORING, State.FINISHED, site)
    run.refresh_from_db()
    assert run.state == State.QUEUED


def test_another_run_of_the_same_attempt_and_state_stays(site: Scenario) -> None:
    run, other = waiting(site), waiting(site)
    assert moved(run, State.QUEUED, State.CANCELLED, site)
    other.refresh_from_db()
    assert other.state == State.QUEUED


def test_what_the_table_does_not_have_is_a_fault_of_the_program() -> None:
    for source, target in product(State, State):
        if target not in NEXT.get(source, ()):
            with pytest.raises(IllegalMove, match=f"from {source} to {target}"):
                run_move(Run(pk=uuid4(), attempt=1, state=source), target=target, actor="test", now=NOON)


def test_the_table_lets_runs_only_go_on_be_tried_again_or_end() -> None:
    order = [
        State.CHECKING,
        State.UNSTARTED,
        State.QUEUED,
        State.LEASED,
        State.PREPARING,
        State.INGESTING,
        State.SCORING,
    ]
    assert set(NEXT) == set(order)
    assert not set(NEXT) & set(FINAL)
    for source, targets in NEXT.items():
        assert State.CANCELLED in targets
        assert State.FAILED in targets or source == State.UNSTARTED, "nothing can go wrong before it is started"
        assert State.FINISHED not in targets or source in HELD
        onward = {state for state in targets if state in order and state != State.QUEUED}
        assert all(order.index(state) > order.index(source) for state in onward)
    assert NEXT[State.CHECKING] == (State.UNSTARTED, State.QUEUED, State.CANCELLED, State.FAILED)
    assert NEXT[State.UNSTARTED] == (State.QUEUED, State.CANCELLED)
    assert NEXT[State.QUEUED] == (State.LEASED, State.CANCELLED, State.FAILED)
    assert State.PREPARING in NEXT[State.LEASED]
    assert State.INGESTING in NEXT[State.PREPARING]
    assert State.SCORING in NEXT[State.INGESTING]


def test_a_move_is_on_record(site: Scenario) -> None:
    run = waiting(site)
    assert moved(run, State.QUEUED, State.CANCELLED, site, note="x" * 2000)
    event = RunEvent.objects.latest("pk")
    assert (event.run, event.attempt, event.source, event.target) == (run, 1, State.QUEUED, State.CANCELLED)
    assert (event.actor, event.note, event.at) == ("test", "x" * 1000, site.now)


def test_words_of_a_failure_fit_their_column(site: Scenario) -> None:
    run = waiting(site)
    assert run_fail(run, actor="test", now=site.now, reason=Reason.SETUP_ERROR, code="long", detail="x" * 2000)
    run.refresh_from_db()
    assert run.detail == "x" * 1000


def test_only_a_held_run_has_a_lease(site: Scenario) -> None:
    site.submit()
    run = site.claim(at=site.now)
    assert moved(run, State.LEASED, State.PREPARING, site)
    run.refresh_from_db()
    assert run.lease_id is not None
    assert moved(run, State.PREPARING, State.QUEUED, site, next_attempt=True)
    run.refresh_from_db()
    assert Run.objects.filter(pk=run.pk, lease_id=None, lease_expires_at=None, attempt=2, finished_at=None).exists()
    assert TeamTurn.objects.filter(team=site.team, waiting_since__isnull=False).exists(), "it waits again"


def test_an_end_has_its_time_unless_the_caller_knows_another(site: Scenario) -> None:
    run, other = waiting(site), waiting(site)
    assert moved(run, State.QUEUED, State.CANCELLED, site)
    earlier = site.now - timedelta(minutes=5)
    assert moved(other, State.QUEUED, State.CANCELLED, site, finished_at=earlier)
    assert Run.objects.get(pk=run.pk).finished_at == site.now
    assert Run.objects.get(pk=other.pk).finished_at == earlier


def test_a_run_that_is_not_over_is_not_opened_again(site: Scenario) -> None:
    run = waiting(site)
    assert not run_reopen(run=run, actor="test", now=site.now)
    assert moved(run, State.QUEUED, State.FAILED, site, reason=Reason.SCORING_ERROR)
    run.refresh_from_db()
    stale = Run(pk=run.pk, attempt=2, submission=run.submission, task=run.task)
    assert not run_reopen(run=stale, actor="test", now=site.now), "another attempt was meant"
    assert run_reopen(run=run, actor="test", now=site.now, note="again")
    assert not run_reopen(run=run, actor="test", now=site.now), "once"
    run.refresh_from_db()
    assert (run.state, run.attempt, run.reason, run.finished_at) == (State.QUEUED, 2, "", None)
    assert RunEvent.objects.latest("pk").note == "again"
    submission = Submission.objects.get(pk=run.submission_id)
    assert (submission.status, submission.finished_at) == (State.QUEUED, None)


@pytest.mark.parametrize(
    ("states", "status"),
    [
        ((State.QUEUED, State.FINISHED), State.QUEUED),
        ((State.CHECKING, State.QUEUED), State.CHECKING),
        ((State.QUEUED, State.LEASED), State.QUEUED),
        ((State.SCORING, State.INGESTING), State.INGESTING),
        ((State.PREPARING, State.LEASED), State.LEASED),
        ((State.INGESTING, State.PREPARING), State.PREPARING),
        ((State.FINISHED, State.SCORING), State.SCORING),
        ((State.FINISHED, State.FINISHED), State.FINISHED),
        ((State.FAILED, State.SCORING), State.SCORING),
        ((State.FAILED, State.FINISHED), State.FAILED),
        ((State.CANCELLED, State.FINISHED), State.CANCELLED),
        ((State.CANCELLED, State.FAILED), State.FAILED),
        ((State.CANCELLED, State.QUEUED), State.QUEUED),
    ],
)
def test_the_least_advanced_run_says_how_far_a_submission_is(states: tuple[State, ...], status: State) -> None:
    runs = [(state, Reason.TIME_LIMIT if state == State.FAILED else "") for state in states]
    assert submission_status(runs) == (status, Reason.TIME_LIMIT if status == State.FAILED else "")


def test_a_submission_ends_with_its_last_run(site: Scenario) -> None:
    run = waiting(site)
    assert moved(run, State.QUEUED, State.CANCELLED, site)
    assert Submission.objects.get(pk=run.submission_id).finished_at == site.now
    assert RunEvent.objects.latest("pk").note == ""


def test_a_board_hears_of_a_run_that_fills_it_when_that_ends_and_not_before(site: Scenario) -> None:
    run, heard = waiting(site), list[tuple[Submission, datetime]]()

    def listen(submission: Submission, now: datetime, **_: object) -> None:
        heard.append((submission, now))

    Run.objects.filter(pk=run.pk).update(fills_board=True)
    submission_settled.connect(listen)
    try:
        assert moved(site.claim(at=site.now), State.LEASED, State.PREPARING, site)
        assert heard == []
        assert moved(run, State.PREPARING, State.FAILED, site, reason=Reason.SCORING_ERROR)
        assert heard == [(run.submission, site.now)]
    finally:
        submission_settled.disconnect(listen)
    assert Submission.objects.get(pk=run.submission_id).status == State.QUEUED, "it has no part in that"


def test_boards_hear_once_that_a_submission_ended_and_whether_it_is_charged(site: Scenario) -> None:
    cancelled, scored, heard = waiting(site), waiting(site), list[tuple[int, State, bool, str, datetime]]()

    def listen(submission: Submission, reason: str, now: datetime, **_: object) -> None:
        heard.append((submission.pk, State(submission.status), submission.is_charged, reason, now))

    Submission.objects.filter(pk=cancelled.submission_id).update(is_verification=True)
    submission_settled.connect(listen, sender=Submission)
    try:
        assert moved(cancelled, State.QUEUED, State.CANCELLED, site)
        assert moved(site.claim(at=site.now), State.LEASED, State.SCORING, site, started_at=site.now)
        assert moved(scored, State.SCORING, State.FINISHED, site)
    finally:
        submission_settled.disconnect(listen, sender=Submission)
    again = f"Submission #{scored.submission_id} was run again."
    assert heard == [
        (cancelled.submission_id, State.CANCELLED, False, "", site.now),
        (scored.submission_id, State.FINISHED, True, again, site.now),
    ]
    charged = dict(Submission.objects.values_list("pk", "is_charged"))
    assert charged == {cancelled.submission_id: False, scored.submission_id: True}


def ended_as(site: Scenario, run: Run, target: State, *, starts: bool = True, **changes: object) -> bool:
    """True if a run's submission is charged after this end of it."""
    source = State.QUEUED
    if starts:
        assert site.claim(at=site.now) == run
        assert moved(run, State.LEASED, State.SCORING, site, started_at=site.now)
        source = State.SCORING
    assert moved(run, source, target, site, **changes)
    return Submission.objects.get(pk=run.submission_id).is_charged


@pytest.mark.parametrize(
    ("end", "is_charged"),
    [
        ({"target": State.FINISHED}, True),
        ({"target": State.FAILED, "reason": Reason.PROGRAM_ERROR}, True),
        ({"target": State.FAILED, "reason": Reason.INFRASTRUCTURE}, False),
        ({"target": State.CANCELLED}, True),
        ({"target": State.CANCELLED, "starts": False}, False),
    ],
)
def test_what_an_end_costs_a_team(site: Scenario, end: dict[str, Any], is_charged: bool) -> None:
    assert ended_as(site, waiting(site), **end) is is_charged


@pytest.mark.parametrize("field", ["rerun_of", "migrated_from", "is_verification"])
def test_what_no_team_sent_in_costs_nothing(site: Scenario, field: str) -> None:
    run = waiting(site)
    other = site.submit(team=site.join(), at=site.now + timedelta(minutes=1))
    Submission.objects.filter(pk=run.submission_id).update(**{field: True if field == "is_verification" else other})
    assert not ended_as(site, run, State.FINISHED)


def test_runs_that_fill_a_board_do_not_make_a_cancelled_submission_cost_anything(site: Scenario) -> None:
    run = waiting(site)
    fills = Run.objects.get(pk=run.pk)
    fills.pk, fills.task, fills.fills_board, fills.started_at = uuid4(), site.sealed.tasks.get(), True, site.now
    fills.save(force_insert=True)
    assert not ended_as(site, run, State.CANCELLED, starts=False)

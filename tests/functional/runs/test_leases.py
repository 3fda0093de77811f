"""A lease: who names it may speak for the run, and nobody else; what they say renews it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings

from competitions.runs.leases import reports
from competitions.runs.leases.reports import held_run, require_lease
from competitions.runs.models import Attempt, Run, RunEvent
from competitions.runs.refusals import LeaseLost
from competitions.submissions.states import State
from tests.answers import read_result
from tests.scenario import Scenario, lease

pytestmark = pytest.mark.django_db
CALLS = ["require", "held", "heartbeat", "release", "complete"]


def say(call: str, site: Scenario, named: dict[str, Any], state: State = State.PREPARING) -> Any:
    """Speak as whoever names this lease, half a minute after the claim."""
    now = site.now + timedelta(seconds=30)
    match call:
        case "require":
            return require_lease(**named)
        case "held":
            return held_run(**named)
        case "heartbeat":
            return reports.run_heartbeat(**named, state=state, meters={}, now=now)
        case "release":
            return reports.run_release(**named, note="", now=now)
    result = read_result({"outcome": "finished", "scores": {"mae": 0.5}}, columns=["mae"])
    return reports.run_complete(**named, result=result, now=now)


def held(site: Scenario) -> Run:
    site.submit()
    return site.claim(at=site.now)


@pytest.mark.parametrize("call", CALLS)
def test_who_names_another_lease_changes_nothing(site: Scenario, call: str) -> None:
    run = held(site)
    before = Run.objects.values().get(pk=run.pk)
    others: list[dict[str, Any]] = [
        {"attempt": 2},
        {"attempt": 0},
        {"lease_id": str(uuid4())},
        {"run_id": str(uuid4())},
    ]
    for wrong in others:
        with pytest.raises(LeaseLost):
            say(call, site, lease(run) | wrong)
        assert Run.objects.values().get(pk=run.pk) == before, wrong


@pytest.mark.parametrize("call", ["held", "heartbeat", "release"])
def test_a_run_that_nobody_holds_has_no_lease_to_name(site: Scenario, call: str) -> None:
    run = site.submit().runs.get()
    with pytest.raises(LeaseLost):
        say(call, site, {"run_id": str(run.pk), "attempt": 1, "lease_id": str(run.lease_id)})
    assert Run.objects.get(pk=run.pk).state == State.QUEUED


@pytest.mark.parametrize("call", CALLS)
def test_the_holder_is_heard(site: Scenario, call: str) -> None:
    say(call, site, lease(held(site)))


def test_a_heartbeat_renews_the_lease_from_now(site: Scenario, settings: LazySettings) -> None:
    settings.LEASE_S = 77
    run = held(site)
    answer = say("heartbeat", site, lease(run))
    expected = site.now + timedelta(seconds=30 + 77)
    assert answer.lease_expires_at == Run.objects.get(pk=run.pk).lease_expires_at == expected
    again = reports.run_heartbeat(**lease(run), state=State.PREPARING, meters={}, now=site.now + timedelta(seconds=40))
    assert again.lease_expires_at == Run.objects.get(pk=run.pk).lease_expires_at == expected + timedelta(seconds=10)


def test_a_run_starts_when_its_first_container_does_and_a_late_report_moves_nothing_back(site: Scenario) -> None:
    run = held(site)
    say("heartbeat", site, lease(run))
    assert Run.objects.get(pk=run.pk).started_at is None
    assert say("heartbeat", site, lease(run), State.INGESTING).state == State.INGESTING
    assert Run.objects.get(pk=run.pk).started_at == site.now + timedelta(seconds=30)
    event, worker = RunEvent.objects.latest("pk"), run.worker
    assert worker is not None
    assert (event.source, event.target, event.actor) == (State.PREPARING, State.INGESTING, f"worker:{worker.name}")
    say("heartbeat", site, lease(run))
    assert Run.objects.get(pk=run.pk).state == State.INGESTING


def test_a_released_run_keeps_its_attempt_and_says_why(site: Scenario) -> None:
    run = held(site)
    assert say("release", site, lease(run)) == State.QUEUED
    run.refresh_from_db()
    assert (run.state, run.attempt, run.worker, run.lease_id) == (State.QUEUED, 1, None, None)
    assert RunEvent.objects.latest("pk").note == "released by the worker"


def test_a_released_run_that_was_cancelled_ends(site: Scenario) -> None:
    run = held(site)
    Run.objects.filter(pk=run.pk).update(cancel_requested_at=site.now)
    assert say("release", site, lease(run)) == State.CANCELLED
    assert Run.objects.get(pk=run.pk).state == State.CANCELLED


def test_an_answer_that_comes_twice_gets_the_same_reply_and_counts_once(site: Scenario) -> None:
    run = held(site)
    named = lease(run)
    assert say("complete", site, named) == say("complete", site, named) == State.FINISHED
    assert Attempt.objects.filter(run=run, is_answered=True).count() == 1
    ended = Run.objects.get(pk=run.pk)
    assert (ended.scores, ended.started_at, ended.finished_at) == ({"mae": 0.5}, None, site.now + timedelta(seconds=30))

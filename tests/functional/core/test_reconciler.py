"""After the site itself was away, leases are spared until every living worker is heard again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from structlog.testing import capture_logs

from competitions.catalog import publishing
from competitions.catalog.models import Announcement, Competition, Leaderboard, Phase, Proposal, Task
from competitions.catalog.texts import announcements
from competitions.compute.models import Queue
from competitions.leaderboards import sealing
from competitions.leaderboards.growing import missing_runs
from competitions.leaderboards.reading import daily_ranks
from competitions.leaderboards.rescoring import jobs as rescoring_jobs
from competitions.leaderboards.rescoring import services as rescoring
from competitions.notifications import mails
from competitions.notifications.models import Delivery, Kind, Notification
from competitions.resources import orphans
from competitions.resources.models import StoredFile
from competitions.resources.storage import store_bytes
from competitions.runs.accounting import gpu_hours
from competitions.runs.leases import retries
from competitions.runs.models import Run
from competitions.runs.queue import ranking
from competitions.runs.records import scoring_errors
from competitions.submissions import notices
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import Reason, State
from core import reconciler as service
from core.celery import Broker, app
from core.management.commands import reconciler
from core.management.commands.reconciler import Command, Patience
from core.models import StepFailures
from core.reconciler import Step
from tests.scenario import NOON, Scenario, scenario


@pytest.fixture(autouse=True)
def _intervals(settings: Any) -> None:
    settings.RECONCILE_S, settings.HEARTBEAT_S = 15, 15


def use_steps(monkeypatch: pytest.MonkeyPatch, **steps: Callable[..., int]) -> None:
    monkeypatch.setattr(service, "_steps", {name: Step(name, run) for name, run in steps.items()})


def rounds(patience: Patience, times: list[float]) -> list[bool]:
    verdicts = []
    for at in times:
        verdicts.append(patience.spares(at))
        patience.note_success(at)
    return verdicts


def test_leases_are_spared_for_two_heartbeats_after_a_start_and_then_no_more() -> None:
    assert rounds(Patience(), [0, 15, 29, 30, 45]) == [True, True, True, False, False]


def test_a_pause_longer_than_three_rounds_means_that_the_site_was_away() -> None:
    patience = Patience()
    rounds(patience, [0, 15, 30, 45])
    assert rounds(patience, [91]) == [False], "46 seconds are a slow machine"
    assert rounds(patience, [200, 215, 229, 230]) == [True, True, True, False]


def test_a_round_that_failed_is_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, spared = iter(range(0, 1000, 20)), []
    monkeypatch.setattr(reconciler, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(reconciler, "close_old_connections", lambda: None)
    command = Command()
    command.patience = Patience()

    def away(**arguments: Any) -> dict[str, int]:
        raise OperationalError("the database is away")

    def there(*, spare_leases: bool, **arguments: Any) -> dict[str, int]:
        spared.append(spare_leases)
        return {}

    for stand_in in (there, there, away, away, away, there, there, there):
        monkeypatch.setattr(reconciler, "reconcile", stand_in)
        command.round(spare=True)
    assert spared == [True, False, True, False, False]


@pytest.mark.django_db
def test_a_step_that_fails_keeps_no_other_from_its_turn_and_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**arguments: Any) -> int:
        raise ValueError("a board that nobody thought of")

    use_steps(monkeypatch, first=broken, second=lambda *, now: 2)
    with capture_logs() as logs:
        done = service.reconcile(now=NOON)
    assert done == {"first": 0, "second": 2}
    assert [(line["event"], line["step"]) for line in logs] == [("reconcile_step_failed", "first")]


@pytest.mark.django_db
def test_a_database_that_goes_away_in_a_step_ends_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**arguments: Any) -> int:
        raise OperationalError("the database is away")

    use_steps(monkeypatch, first=away)
    monkeypatch.setattr(service, "_database_answers", lambda: False)
    with pytest.raises(OperationalError):
        service.reconcile(now=NOON)


@pytest.mark.django_db
def test_a_statement_that_the_database_gave_up_fails_its_step_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def deadlocked(**arguments: Any) -> int:
        raise OperationalError("deadlock detected")

    use_steps(monkeypatch, first=deadlocked, second=lambda *, now: 2)
    assert service.reconcile(now=NOON) == {"first": 0, "second": 2}


def test_a_run_that_cannot_be_taken_back_keeps_no_other_waiting(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        site.submit()
    runs = sorted((site.claim() for _ in range(3)), key=lambda run: run.pk)
    lost = retries.end_faulty_attempt

    def fails_for_one(run: Run, **arguments: Any) -> State:
        if run.pk == runs[0].pk:
            raise ValueError("a board that nobody thought of")
        return lost(run, **arguments)

    monkeypatch.setattr(retries, "end_faulty_attempt", fails_for_one)
    done = service.reconcile(now=site.now + timedelta(hours=1))
    assert done["leases_expired"] == 2
    assert Run.objects.filter(state=State.LEASED).get() == runs[0]
    assert StepFailures.objects.get().step == "leases_expired"


@pytest.mark.parametrize(
    ("after", "rounds_done"),
    [(timedelta(0), 1), (timedelta(seconds=59), 1), (timedelta(seconds=60), 2), (timedelta(hours=-1), 2)],
)
def test_a_step_is_done_at_most_once_in_its_interval_whatever_the_clock_does(
    monkeypatch: pytest.MonkeyPatch, after: timedelta, rounds_done: int
) -> None:
    done: list[datetime] = []

    def tidy(*, now: datetime) -> int:
        done.append(now)
        return 1

    step = Step("tidy", tidy, every=timedelta(minutes=1))
    monkeypatch.setattr(service, "_steps", {"tidy": step})
    service.reconcile(now=NOON)
    service.reconcile(now=NOON + after)
    assert len(done) == rounds_done


def test_leases_are_the_only_thing_that_is_spared(site: Scenario) -> None:
    site.submit()
    site.claim()
    later = site.now + timedelta(hours=1)
    assert "leases_expired" not in service.reconcile(now=later, spare_leases=True)
    assert service.reconcile(now=later)["leases_expired"] == 1


def test_a_broker_that_takes_no_wake_up_is_not_asked_for_every_queue(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels: list[str] = []
    for number in range(3):
        site.competition.queue = Queue.objects.create(name=f"further-{number}")
        site.competition.save()
        site.submit()

    def refused(channel: str) -> bool:
        channels.append(channel)
        return False

    monkeypatch.setattr(ranking, "wake", refused)
    assert ranking.wake_waiting_queues(now=site.now) == 0
    assert len(channels) == 1


def test_a_broker_that_is_away_is_asked_again_after_a_while_and_not_for_each_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time takes its time-out, and a round may have hundreds of mails to send."""
    tries: list[str] = []

    def frozen(task: str, **_: object) -> None:
        tries.append(task)
        raise TimeoutError

    monkeypatch.setattr(app, "send_task", frozen)
    monkeypatch.setattr(Broker, "away_until", 0.0)
    monkeypatch.setattr(Broker, "quiet_s", 0.0)
    assert [Broker.send("request", queue="b") for _ in range(2)] == [False, False]
    assert tries == ["request", "request"], "a process of the site tries each"
    tries.clear()
    monkeypatch.setattr(Broker, "quiet_s", 5.0)
    assert [Broker.send("a", queue="b") for _ in range(3)] == [False, False, False]
    assert tries == ["a"]
    monkeypatch.setattr(Broker, "away_until", time.monotonic())
    monkeypatch.setattr(app, "send_task", lambda task, **_: tries.append(task))
    assert [Broker.send("c", queue="b") for _ in range(2)] == [True, True]
    assert tries == ["a", "c", "c"]


def test_failures_of_steps_are_counted_for_prometheus(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    def broken(**arguments: Any) -> int:
        raise ValueError("a board that nobody thought of")

    settings.METRICS_TOKEN = "scrape-me"
    use_steps(monkeypatch, boards_filled=broken, reveals_told=lambda *, now: 0)
    for _ in range(2):
        service.reconcile(now=site.now)
    metrics = Client().get("/metrics", headers={"Authorization": "Bearer scrape-me"}).content.decode()
    assert 'podium_reconciler_step_failures_total{step="boards_filled"} 2.0' in metrics
    assert "reveals_told" not in metrics


def plan_publication(site: Scenario) -> None:
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False, publish_at=site.now)


def end_soon(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=site.now + timedelta(hours=1))


def join_dataset(site: Scenario) -> None:
    task = Task.objects.create(
        competition=site.competition, name="Theirs", scoring_program=site.phase.tasks.get().scoring_program
    )
    Dataset.objects.create(submission=site.submit(), task=task, name="Theirs", joined_at=site.now)


def plan_announcement(site: Scenario) -> None:
    Announcement.objects.create(competition=site.competition, title="Soon", body="Now.", published_at=site.now)


def put_on_board(site: Scenario) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(entry_count=1)


def limit_gpu_hours(site: Scenario) -> None:
    Queue.objects.filter(pk=site.queue.pk).update(gpu_hours_per_competition=1)


def fail_by_our_fault(site: Scenario) -> None:
    failed = {"status": State.FAILED, "reason": Reason.INFRASTRUCTURE, "finished_at": site.now}
    Submission.objects.filter(pk=site.submit().pk).update(**failed)


def reveal(site: Scenario) -> None:
    Phase.objects.filter(pk=site.sealed.pk).update(revealed_at=site.now)


def score_proposal(site: Scenario) -> None:
    proposal = rescoring.proposal_begin(
        competition=site.competition, title="New", reason="Better.", by=site.organizer, now=site.now
    )
    Proposal.objects.filter(pk=proposal.pk).update(state=Proposal.State.SCORING)


def leave_file(site: Scenario) -> None:
    file = store_bytes(f"of {site.competition}".encode())
    StoredFile.objects.filter(pk=file.pk).update(unneeded_since=site.now - orphans.GRACE)


def tell_somebody(site: Scenario, delivery: Delivery = Delivery.AT_ONCE) -> None:
    values = {"competition": site.competition, "kind": Kind.REVEAL, "event": "x", "subject": "x", "delivery": delivery}
    row = Notification.objects.create(user=site.member(), **values)
    Notification.objects.filter(pk=row.pk).update(created_at=site.now - timedelta(days=2))


@pytest.mark.parametrize(
    ("step", "each", "prepare"),
    [
        (announcements.announce_due, "_announce", plan_announcement),
        (daily_ranks.daily_ranks_note, "_note", put_on_board),
        (gpu_hours.warn_of_gpu_hours, "_warn_on", limit_gpu_hours),
        (scoring_errors.organizers_notify, "_tell", fail_by_our_fault),
        (sealing.reveals_notify, "_notify", reveal),
        (rescoring_jobs.proposals_carry_on, "_carry_on", score_proposal),
        (mails.notifications_mail, "_mail", tell_somebody),
        (orphans.remove_orphans, "_remove", leave_file),
        (mails.digests_mail, "_mail", partial(tell_somebody, delivery=Delivery.DIGEST)),
        (publishing.publish_due, "_publish_planned", plan_publication),
        (notices.deadlines_notify, "_deadline_notify", end_soon),
        (missing_runs.boards_fill, "_phase_fill", join_dataset),
        (missing_runs.datasets_begin_to_count, "_begin_to_count", join_dataset),
    ],
)
def test_a_row_that_fails_keeps_no_other_of_its_step_waiting(
    site: Scenario,
    monkeypatch: pytest.MonkeyPatch,
    step: Callable[..., int],
    each: str,
    prepare: Callable[[Scenario], None],
) -> None:
    for world in (site, scenario()):
        prepare(world)
    rows = []

    def fails_for_the_first(row: object, *, now: datetime) -> int:
        rows.append(row)
        if len(rows) == 1:
            raise ValueError("a row that nobody thought of")
        return 1

    monkeypatch.setattr(sys.modules[step.__module__], each, fails_for_the_first)
    assert (step(now=site.now), len(rows), StepFailures.objects.get().count) == (1, 2, 1)

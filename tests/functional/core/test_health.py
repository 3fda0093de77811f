"""Health checks: asked by an address of the network, and said to administrators."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import caches
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from competitions.compute.models import ComputeWorker, Queue
from competitions.runs.queue.positions import unserved_queues
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from core.health import note_round
from core.shared_cache import RedisOrDatabaseCache
from tests.background import run_background
from tests.scenario import Scenario, person, prediction_bytes
from tests.services import free_port

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_health_check_needs_neither_the_sites_host_name_nor_https(settings: Any, path: str) -> None:
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["podium.example.org"], True
    assert Client(headers={"Host": "10.0.0.7:8000"}).get(path).status_code == 200
    assert Client(headers={"Host": "10.0.0.7:8000"}).get("/").status_code == 400


def test_a_broker_that_is_away_is_said_to_the_administrator(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.force_login(person(is_staff=True, is_superuser=True))
    note_round(timezone.now())
    assert "Degraded" not in client.get(reverse("admin:index")).content.decode()
    monkeypatch.setattr("core.health._broker_answers", lambda: False)
    assert "Degraded: broker: does not answer" in client.get(reverse("admin:index")).content.decode()


def degraded_names(now: datetime) -> list[str]:
    with time_machine.travel(now, tick=False):
        answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["faults"]) == (200, [])
    return [each.partition(":")[0] for each in answer.json()["degraded"]]


def test_a_reconciler_that_has_stopped_is_said(site: Scenario) -> None:
    caches["default"].clear()
    assert degraded_names(site.now) == ["reconciler"]
    with time_machine.travel(site.now, tick=False):
        call_command("reconciler", once=True)
    assert degraded_names(site.now) == []
    assert degraded_names(site.now + timedelta(minutes=2)) == ["reconciler"]


def test_background_work_that_nobody_does_is_said(site: Scenario) -> None:
    submission_create(
        NewSubmission(
            user=site.member(), phase=site.phase, upload=site.upload(prediction_bytes()), kind=Kind.PREDICTION
        ),
        now=site.now,
    )
    for minutes, names in ((4, []), (6, ["background"])):
        later = site.now + timedelta(minutes=minutes)
        note_round(later)
        assert degraded_names(later) == names
    run_background(at=later)
    assert degraded_names(later) == []


def test_runs_that_no_worker_takes_are_said(site: Scenario) -> None:
    worker = site.worker()
    site.submit(at=site.now + timedelta(seconds=30))
    for seconds, names in ((60, []), (85, []), (95, ["workers"])):
        later = site.now + timedelta(seconds=seconds)
        note_round(later)
        assert degraded_names(later) == names
    ComputeWorker.objects.filter(pk=worker.pk).update(last_seen_at=later)
    assert degraded_names(later) == []
    ComputeWorker.objects.all().delete()
    assert degraded_names(later) == ["workers"]
    assert str(site.queue) not in " ".join(unserved_queues(later)), "anybody may read it"
    Queue.objects.update(is_paused=True)
    assert degraded_names(later) == []


def test_a_site_in_production_without_a_mail_server_says_so(site: Scenario, settings: Any) -> None:
    note_round(site.now)
    settings.EMBEDDED, settings.EMAIL_DELIVERY_BACKEND = False, "django.core.mail.backends.console.EmailBackend"
    assert degraded_names(site.now) == ["mail"]
    settings.EMAIL_DELIVERY_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert degraded_names(site.now) == []


def test_counts_go_on_in_the_database_while_redis_is_away() -> None:
    cache = RedisOrDatabaseCache(f"redis://127.0.0.1:{free_port()}/0", {})
    try:
        assert cache.add("tries", 1)
        assert not cache.add("tries", 1)
        assert cache.incr("tries") == 2
        assert cache.is_away()
        assert cache.get("tries") == 2
    finally:
        RedisOrDatabaseCache.away_until = 0.0

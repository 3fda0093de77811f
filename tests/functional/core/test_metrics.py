"""`/metrics`: what an administrator is paged on, closed to everybody without the token."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from competitions.bundles.exports import export_begin
from competitions.resources.uploads import remove_expired_uploads, upload_begin
from competitions.runs.leases.retries import expire_leases
from tests.background import run_background
from tests.scenario import Scenario, preempt

TOKEN = "scrape-me"


def scrape(token: str = TOKEN) -> str:
    return Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}).content.decode()


@pytest.fixture(autouse=True)
def _token(settings: object) -> None:
    settings.METRICS_TOKEN = TOKEN  # type: ignore[attr-defined]


def test_queue_runs_and_workers_are_counted(site: Scenario) -> None:
    submission = site.score(site.submit(), 0.123456)
    site.submit(at=site.now - timedelta(seconds=30))
    metrics = scrape()
    queue = site.queue.name
    assert f'podium_queue_depth{{queue="{queue}"}} 1.0' in metrics
    age = re.search(rf'podium_queue_oldest_age_seconds{{queue="{queue}"}} ([\d.]+)', metrics)
    assert age is not None
    assert 30 <= float(age[1]) < 90  # the clock goes on while the test runs
    assert 'podium_runs{reason="",state="finished"} 1.0' in metrics
    assert re.search(rf'podium_worker_last_seen_seconds{{queue="{queue}",worker="worker\d+"}} ', metrics)
    assert "0.123456" not in metrics
    assert submission.team.name not in metrics


def test_uploads_that_came_to_nothing_are_counted(site: Scenario) -> None:
    upload_begin(user=site.member(), file_name="x.zip", size_bytes=10, now=site.now)
    assert "podium_uploads_unfinished 1.0" in scrape()
    remove_expired_uploads(now=site.now + timedelta(days=2))
    metrics = scrape()
    assert "podium_uploads_unfinished 0.0" in metrics
    assert 'podium_uploads_failed_total{cause="expired"} 1.0' in metrics


def test_a_lost_lease_is_seen_at_once_and_counted_for_ever(site: Scenario) -> None:
    hour_ago = site.now - timedelta(hours=1)
    site.submit(at=hour_ago)
    run = site.claim(at=hour_ago)
    assert "podium_runs_without_lease 1.0" in scrape()
    expire_leases(now=site.now)
    metrics = scrape()
    assert "podium_runs_without_lease 0.0" in metrics
    assert "podium_leases_expired_total 1.0" in metrics
    assert run.attempt == 1


def test_a_worker_whose_job_the_cluster_ended_is_not_a_lost_one(site: Scenario) -> None:
    site.submit()
    preempt(site.claim(), at=site.now)
    assert "podium_leases_expired_total 0.0" in scrape()


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", "é"])
def test_without_the_token_there_is_nothing(site: Scenario, token: str) -> None:
    assert Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 404


def test_without_a_token_in_the_settings_there_are_no_metrics(site: Scenario, settings: object) -> None:
    settings.METRICS_TOKEN = ""  # type: ignore[attr-defined]
    assert Client().get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_background_work_that_waits_is_counted_with_its_age(site: Scenario) -> None:
    export_begin(competition=site.competition, by=site.organizer, with_files=True, now=site.now - timedelta(seconds=90))
    metrics = scrape()
    assert 'podium_background_waiting{job="bundle-export",queue="background-long"} 1.0' in metrics
    assert 'podium_background_waiting{job="file-check",queue="background"} 0.0' in metrics
    age = re.search(
        r'podium_background_oldest_age_seconds{job="bundle-export",queue="background-long"} ([\d.]+)', metrics
    )
    assert age is not None
    assert 90 <= float(age[1]) < 150
    run_background()
    assert 'podium_background_oldest_age_seconds{job="bundle-export",queue="background-long"} 0.0' in scrape()


def test_the_room_in_the_object_store_is_told(site: Scenario) -> None:
    free, total = (re.search(rf"podium_store_{name}_bytes ([\d.e+]+)", scrape()) for name in ("free", "total"))
    assert free is not None
    assert total is not None
    assert 0 < float(free[1]) <= float(total[1])

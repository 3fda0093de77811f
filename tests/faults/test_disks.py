"""A site whose database or Redis has no room left, or whose reconciler is gone: nothing is lost.

It has a site of its own, as the background's faults have, and comes before that of `cluster`, which then takes the connections over.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import redis
import requests
from django.db import connections

from config.demo.processes import background_command
from core.background.jobs import Queue
from tests import migrated, services
from tests.conftest import use_broker, use_database
from tests.faults.parts import Broker, Database, Part, free_port
from tests.scenario import CODE, Scenario, scenario, zip_bytes
from tests.services import REPOSITORY
from tests.waiting import wait_for

LEASE_S = 3
DATABASE_MIB = 400


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own that can be filled."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """No byte is left."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        for size in (1 << 20, 4096):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
    try:
        yield
    finally:
        filler.unlink()


class Site:
    """Database on a small disk, Redis, web server, reconciler and a background process."""

    def __init__(self, folder: Path, disk: Path, disk_of_redis: Path) -> None:
        from django.conf import settings

        self.disk, self.disk_of_redis = disk, disk_of_redis
        self.database, self.broker = Database(disk), Broker(folder, disk_of_redis)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        environment = dict(os.environ) | {
            "DATABASE_URL": self.database.url,
            "PODIUM_BROKER_URL": self.broker.url,
            "PODIUM_CACHE_URL": self.broker.cache_url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PODIUM_DATA_DIR": str(settings.DATA_DIR),
            "PODIUM_SECRET_KEY": settings.SECRET_KEY,
            "PODIUM_ALLOWED_HOSTS": "127.0.0.1",
            "PODIUM_RECONCILE_S": "1",
            "PODIUM_BACKGROUND_LEASE_S": str(LEASE_S),
            "PODIUM_LOG_LEVEL": "WARNING",
            "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/platform",
        }
        web = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{port}", "--threads", "6"]
        self.web = Part("web", folder, web, environment)
        self.reconciler = Part("reconciler", folder, [sys.executable, "manage.py", "reconciler"], environment)
        self.background = Part("background", folder, background_command(Queue.SHORT), environment)
        self.parts = (self.web, self.reconciler, self.background)

    def seed(self) -> None:
        from accounts.models import Scope, token_create

        now = datetime.now(UTC)
        self.scenario: Scenario = scenario(
            now=now, prediction_format=None, max_submissions_per_day=None, max_submissions=None
        )
        captain = self.scenario.team.captain
        _, self.token = token_create(
            user=captain, name="t", scopes=list(Scope.values), expires_at=now + timedelta(days=1)
        )

    def submit(self) -> requests.Response:
        return requests.post(
            f"{self.url}/api/v1/submissions/",
            headers={"Authorization": f"Bearer {self.token}"},
            data={"phase": self.scenario.phase.pk, "kind": "code"},
            files={"file": ("code.zip", zip_bytes(CODE))},
            timeout=120,
        )

    def ready(self) -> dict[str, Any]:
        document: dict[str, Any] = requests.get(f"{self.url}/readyz", timeout=60).json()
        return document

    def is_up(self) -> bool:
        with suppress(requests.ConnectionError, requests.Timeout):
            return requests.get(f"{self.url}/readyz", timeout=60).ok
        return False

    def wait_until_checked(self, submissions: list[int], *, starts_again: bool = False) -> None:
        """`starts_again`: as Compose does, where Celery ends because Redis refused its reads for long."""

        def states() -> set[str]:
            if starts_again and not self.background.is_alive():
                self.background.start()
            from competitions.submissions.models import Submission

            rows = Submission.objects.filter(pk__in=submissions)
            assert rows.count() == len(submissions), "what was taken is there"
            return set(rows.values_list("status", flat=True))

        wait_for(lambda: states() == {"queued"}, 120, lambda: f"{states()}: {self.background.text()[-2000:]}", 0.1)


@pytest.fixture(scope="module")
def site(django_db_blocker: Any) -> Iterator[Site]:
    folder = services.run_folder() / "full-disks"
    folder.mkdir()
    with (
        small_disk(folder / "disk", f"{DATABASE_MIB}m") as disk,
        small_disk(folder / "disk-of-redis", "64k") as disk_of_redis,
        django_db_blocker.unblock(),
    ):
        site = Site(folder, disk, disk_of_redis)
        use_database(site.database.url)
        use_broker(site.broker.url)
        try:
            with closing(psycopg2.connect(site.database.url)) as connection, connection.cursor() as cursor:
                cursor.execute("ALTER ROLE podium SET synchronous_commit = on")  # what was answered is kept
                connection.commit()
            migrated.postgres(site.database.url)
            site.seed()
            for part in site.parts:
                part.start()
            wait_for(site.is_up, 120, lambda: site.web.text()[-2000:], 0.1)
            yield site
        finally:
            connections.close_all()
            for part in site.parts:
                part.kill()
            site.broker.kill()
            site.database.stop()


def test_a_full_disk_under_the_database_refuses_and_loses_nothing(site: Site) -> None:
    taken, refused = list[int](), list[requests.Response]()
    with filled(site.disk):
        until = time.monotonic() + 120
        while not refused:
            answer = site.submit()
            if answer.status_code == 201:
                taken.append(answer.json()["id"])
            else:
                refused.append(answer)
            assert time.monotonic() < until, "the disk is full"
        assert [answer.status_code for answer in refused] == [503], refused[0].text
        assert refused[0].headers["Retry-After"]
    connections.close_all()
    wait_for(site.is_up, 120, "it serves again", 0.1)
    answer = site.submit()
    assert answer.status_code == 201, answer.text
    site.wait_until_checked([*taken, answer.json()["id"]])
    assert all(part.is_alive() for part in site.parts), [part.text()[-500:] for part in site.parts]


def test_a_redis_that_takes_nothing_because_its_disk_is_full_holds_up_nobody(site: Site) -> None:
    with filled(site.disk_of_redis), redis.Redis.from_url(site.broker.url) as client:
        client.config_set("save", "1 1")
        with suppress(redis.ResponseError):
            client.bgsave()
        wait_for(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", 120, "it cannot save", 0.1)
        with pytest.raises(redis.ResponseError, match="MISCONF"):
            client.set("a", "b")
        began = time.monotonic()
        answers = [site.submit() for _ in range(4)]
        assert time.monotonic() - began < 15, "nobody waits for it"
        assert [answer.status_code for answer in answers] == [201] * 4, answers[0].text
        assert site.ready()["status"] == "degraded"
        assert "reconcile_step_failed" not in site.reconciler.text(), site.reconciler.text()[-2000:]
        client.config_set("save", "")
    site.wait_until_checked([answer.json()["id"] for answer in answers], starts_again=True)


def test_without_the_reconciler_work_goes_on_and_what_a_killed_process_had_waits_for_its_return(site: Site) -> None:
    from competitions.submissions.models import FileCheck

    site.reconciler.kill()
    submitted = [site.submit().json()["id"] for _ in range(3)]
    site.wait_until_checked(submitted)
    site.background.kill()
    lost = site.submit().json()["id"]
    FileCheck.objects.filter(submission=lost).update(
        claimed_until=datetime.now(UTC) + timedelta(seconds=LEASE_S), attempts=1
    )
    site.broker.kill()
    site.broker.start()
    site.background.start()
    after = site.submit().json()["id"]
    site.reconciler.start()
    site.wait_until_checked([lost, after])

"""The site while Redis or the database is away: read, sign in, submit, and when to come again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
import requests
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import PBKDF2PasswordHasher, make_password
from django.db import connections

from accounts.models import Scope, User, token_create
from tests.faults.cluster import Cluster
from tests.scenario import FILE_NAME, Scenario, prediction_bytes, scenario
from tests.services import REPOSITORY

PASSWORD = "quite a long secret 11"


@dataclass(frozen=True)
class Client:
    """A captain with a browser and a token."""

    site: Scenario
    url: str
    token: str

    def get(self, path: str) -> requests.Response:
        return requests.get(f"{self.url}{path}", timeout=60, headers={"Authorization": f"Bearer {self.token}"})

    def sign_in(self) -> requests.Response:
        """The page after the form was sent."""
        with requests.Session() as browser:
            form = browser.get(f"{self.url}/accounts/login/", timeout=60)
            fields = {
                "csrfmiddlewaretoken": browser.cookies["csrftoken"],
                "login": self.site.team.captain.username,
                "password": PASSWORD,
            }
            assert form.ok
            return browser.post(f"{self.url}/accounts/login/", data=fields, headers={"Referer": form.url}, timeout=60)

    def submit(self) -> requests.Response:
        return requests.post(
            f"{self.url}/api/v1/submissions/",
            headers={"Authorization": f"Bearer {self.token}"},
            data={"phase": self.site.phase.pk, "kind": "prediction"},
            files={"file": (FILE_NAME, prediction_bytes())},
            timeout=60,
        )


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    cluster.whole()
    now = datetime.now(UTC)
    site = scenario(now=now, max_submissions_per_day=None)
    captain: User = site.team.captain
    captain.password = make_password(PASSWORD, hasher=PBKDF2PasswordHasher())  # the site's own; tests use a faster one
    captain.save()
    EmailAddress.objects.create(user=captain, email=captain.email, verified=True, primary=True)
    _, token = token_create(user=captain, name="t", scopes=list(Scope.values), expires_at=now + timedelta(days=1))
    yield Client(site, cluster.url, token)
    cluster.whole()


def away(client: Client) -> list[str]:
    """Services that the site does without; no mail server is set, and no worker runs all the time."""
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["faults"]) == (200, [])
    names = [each.partition(":")[0] for each in ready.json()["degraded"]]
    return [name for name in names if name not in ("mail", "workers")]


def test_without_redis_people_read_sign_in_and_submit(cluster: Cluster, client: Client) -> None:
    cluster.reconciler.kill()
    once = [sys.executable, "manage.py", "reconciler", "--once"]
    subprocess.run(once, cwd=REPOSITORY, env=cluster.environment, check=True)
    assert away(client) == []
    cluster.broker.kill()
    try:
        began = time.monotonic()
        answers = [client.submit() for _ in range(6)]
        assert time.monotonic() - began < 15, "a broker that is away holds up nobody for seconds"
        assert [answer.status_code for answer in answers] == [201] * 6, answers[0].text
        assert client.get(f"/competitions/{client.site.competition.slug}/").status_code == 200
        signed_in = client.sign_in()
        assert "/accounts/login/" not in signed_in.url
        assert away(client) == ["cache", "broker"], "the last round is known without Redis"
    finally:
        cluster.broker.start()


def test_limits_hold_without_redis(cluster: Cluster, client: Client) -> None:
    cluster.broker.kill()
    try:
        wrong = [
            requests.post(f"{client.url}/api/api-token-auth/", data={"username": "x", "password": "y"}, timeout=60)
            for _ in range(40)
        ]
        assert wrong[0].status_code == 400
        assert wrong[-1].status_code == 429
    finally:
        cluster.broker.start()


def test_without_the_database_everybody_is_told_to_come_again(cluster: Cluster, client: Client) -> None:
    cluster.database.kill()
    try:
        page, answer, ready = client.get("/"), client.get("/api/v1/competitions/"), client.get("/readyz")
        assert (page.status_code, page.headers["Retry-After"]) == (503, "10")
        assert "The site will be back in a moment" in page.text
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "unavailable"
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert client.get("/healthz").status_code == 200
    finally:
        cluster.database.start()
        connections.close_all()
    assert client.get("/").status_code == 200

"""Health checks: asked by an address of the network, and said to administrators."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core.shared_cache import RedisOrDatabaseCache
from tests.scenario import person
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
    assert "Degraded" not in client.get(reverse("admin:index")).content.decode()
    monkeypatch.setattr("core.health._broker_answers", lambda: False)
    assert "Degraded: broker: does not answer" in client.get(reverse("admin:index")).content.decode()


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

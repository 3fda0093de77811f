"""Unit tests of the site's domain: SQLite, no services; what commits wakes no worker."""

from collections.abc import Iterator

import pytest
import time_machine
from django.core.cache import caches

from core.background import jobs
from core.celery import app
from tests.town import Town, make_town
from tests.worlds import NOON, World, world


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Bells that were rung, in order. The broker is a service, so unit tests stop at its door; `run_background` does what was sent."""
    rings: list[str] = []

    def send_task(name: str, *, queue: str, **_: object) -> None:
        if queue != jobs.QUEUE:
            rings.append(queue)

    monkeypatch.setattr(app, "send_task", send_task)
    return rings


@pytest.fixture
def site(db: None, rung: list[str]) -> Iterator[World]:
    """A competition with one team, at noon of the day that the tests speak of."""
    for name in ("pages", "default"):  # they hold what is named by rows of the test before, and its rates
        caches[name].clear()
    with time_machine.travel(NOON):
        yield world()


@pytest.fixture
def town(site: World) -> Town:
    """A competition, and one of each kind of person."""
    return make_town(site)

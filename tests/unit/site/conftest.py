"""Unit tests of the site's domain: SQLite, no services; what commits wakes no worker."""

from collections.abc import Iterator

import pytest
import time_machine
from django.core.cache import caches

from core.celery import app
from tests.town import Town, make_town
from tests.worlds import NOON, World, world


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Wake-up queues that got a message, in order. The broker is a service, so unit tests stop at its door."""
    rings: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda name, queue, **_: rings.append(queue))
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

"""Unit tests of the site's domain: SQLite, no services; what commits rings no bell."""

import pytest

from competitions.compute import bell
from tests.worlds import World, world


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Bells that were rung, in order. The broker is a service, so unit tests stop at its door."""
    rings: list[str] = []
    monkeypatch.setattr(bell.app, "send_task", lambda name, queue, **_: rings.append(queue))
    return rings


@pytest.fixture
def site(db: None, rung: list[str]) -> World:
    """A competition with one team."""
    return world()

"""Fixtures of tests with a database: SQLite, no services; what commits wakes no worker."""

from collections.abc import Iterator

import pytest
import time_machine
from django.core.cache import caches

from core.background import jobs
from core.celery import app
from tests.permissions import PermissionSite, make_permission_site
from tests.scenario import NOON, Scenario, scenario
from tests.shared_rows import shared


@pytest.fixture
def wakeups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Queues that were woken, in order, without a broker; `run_background` does the work."""
    woken: list[str] = []

    def send_task(name: str, *, queue: str, **_: object) -> None:
        if queue not in list(jobs.Queue):
            woken.append(queue)

    monkeypatch.setattr(app, "send_task", send_task)
    return woken


@pytest.fixture
def noon(db: None, wakeups: list[str]) -> Iterator[None]:
    """The clock begins at noon of the day that the tests speak of; nothing is in the caches."""
    for name in ("pages", "default"):  # they hold what is named by rows of the test before, and its rates
        caches[name].clear()
    with time_machine.travel(NOON):
        yield


@shared
def common_site() -> Scenario:
    """A competition with one team."""
    return scenario()


@pytest.fixture
def site(common_site: Scenario) -> Scenario:
    """A competition with one team, at noon; for a test that also asks for more of it, with that."""
    return common_site


@shared
def permissions(common_site: Scenario) -> PermissionSite:
    """A competition, and one of each kind of person."""
    return make_permission_site(common_site)

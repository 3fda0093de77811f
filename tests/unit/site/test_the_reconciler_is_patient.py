"""After the site was away itself, leases are spared until every worker that lives has been heard again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from structlog.testing import capture_logs

from competitions.submissions import reconciler as service
from competitions.submissions.management.commands import reconciler
from competitions.submissions.management.commands.reconciler import Command, Patience
from competitions.submissions.reconciler import Reconciled
from tests.worlds import NOON


@pytest.fixture(autouse=True)
def _intervals(settings: Any) -> None:
    settings.RECONCILE_S, settings.HEARTBEAT_S = 15, 15


def rounds(patience: Patience, times: list[float]) -> list[bool]:
    found = []
    for at in times:
        found.append(patience.spares(at))
        patience.succeeded(at)
    return found


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
    command.patience, command.tidied_at = Patience(), 10**9

    def away(**arguments: Any) -> Reconciled:
        raise OperationalError("the database is away")

    def there(*, spare_leases: bool, **arguments: Any) -> Reconciled:
        spared.append(spare_leases)
        return Reconciled(0, 0, 0)

    for stand_in in (there, there, away, away, away, there, there, there):
        monkeypatch.setattr(reconciler, "reconcile", stand_in)
        command.round(spare=True)
    assert spared == [True, False, True, False, False]


@pytest.mark.django_db
def test_a_step_that_fails_keeps_no_other_from_its_turn_and_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**arguments: Any) -> int:
        raise ValueError("a board that nobody thought of")

    monkeypatch.setattr(service, "_steps", {"first": broken, "second": lambda *, now: 2})
    with capture_logs() as logs:
        done = service.reconcile(now=NOON)
    assert done.further == {"first": 0, "second": 2}
    assert [(line["event"], line["step"]) for line in logs] == [("reconcile_step_failed", "first")]


@pytest.mark.django_db
def test_a_database_that_goes_away_in_a_step_ends_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**arguments: Any) -> int:
        raise OperationalError("the database is away")

    monkeypatch.setattr(service, "_steps", {"first": away})
    with pytest.raises(OperationalError):
        service.reconcile(now=NOON)

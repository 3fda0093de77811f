"""Two or many actions at once on PostgreSQL, and the control that takes no lock."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from competitions.compute import wakeups
from competitions.submissions.models import Submission
from core.refusals import Refusal
from tests.scenario import Scenario, scenario


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setattr(wakeups, "wake", lambda name: True)
    assert connection.vendor == "postgresql"
    return scenario(now=timezone.now())


def at_once(count: int, act: Callable[[int], Any]) -> Counter[str]:
    """Run `act(0..count-1)` in threads that start together; counts what came of it."""
    barrier = threading.Barrier(count)

    def one(number: int) -> str:
        barrier.wait(timeout=30)
        try:
            outcome = act(number)
            return outcome if isinstance(outcome, str) else "accepted"
        except Refusal as refusal:
            return refusal.code
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return Counter(pool.map(one, range(count)))


def meet(
    monkeypatch: pytest.MonkeyPatch, pause: tuple[Any, str], first: Callable[[], Any], second: Callable[[], Any]
) -> Counter[str]:
    """Start `second` while `first` pauses behind its first call of the function that `pause` names."""
    has_called, call = threading.Event(), getattr(*pause)

    def slowly(*arguments: Any, **options: Any) -> Any:
        result = call(*arguments, **options)
        if not has_called.is_set():
            has_called.set()
            time.sleep(0.3)
        return result

    def act(number: int) -> Any:
        if number:
            assert has_called.wait(timeout=30)
        return (first, second)[number]()

    monkeypatch.setattr(*pause, slowly)
    return at_once(2, act)


@contextlib.contextmanager
def without_row_locks() -> Iterator[None]:
    """Every `select_for_update` takes no lock: the control."""
    with mock.patch.object(QuerySet, "select_for_update", lambda rows, *_, **__: rows.all()):
        yield


def gap_before_writing(count: int, *, lock: bool) -> Callable[[], object]:
    """The gap between counting and writing; in the control all have counted before one of them writes."""
    if lock:
        return functools.partial(time.sleep, 0.05)
    return functools.partial(threading.Barrier(count).wait, timeout=30)


@contextlib.contextmanager
def counting_before(gap: Callable[[], object]) -> Iterator[None]:
    """Each submission waits for the gap after its team's quota was counted."""
    from competitions.submissions import services

    counted = services._require_quota

    def slow(*arguments: Any) -> None:
        counted(*arguments)
        gap()

    with mock.patch.object(services, "_require_quota", slow):
        yield


@contextlib.contextmanager
def quota_counted_late() -> Iterator[None]:
    """Let every second thread look for its key, and then wait until another one has taken the last place."""
    from competitions.submissions import services

    counted, turns, thread = services._require_quota, itertools.count(), threading.local()

    def late(team: Any, phase: Any, *arguments: Any) -> None:
        is_first_call, thread.has_asked = not hasattr(thread, "has_asked"), True
        if is_first_call and next(turns) % 2:
            give_up = time.monotonic() + 30
            while not Submission.objects.filter(phase=phase).exists() and time.monotonic() < give_up:
                time.sleep(0.01)
        counted(team, phase, *arguments)

    with mock.patch.object(services, "_require_quota", late):
        yield

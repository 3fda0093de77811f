"""Does background work in the test itself, with the code of the background processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from unittest import mock

import time_machine
from celery.signals import before_task_publish
from django.db import connection

from competitions.runs import checks
from competitions.runs.planning import CHECK_JOB
from core.background import jobs
from core.background.bounded import Bounds, Call
from tests.calls import run_call

# Held for a pass over all that waits: whoever asks for a second one meanwhile finds the first one's rows done, not half done.
_PASS = threading.RLock()
LOST_S: Final = 1.0  # after which rows are looked for that no message came for


def run_background(*, at: datetime | None = None, only: str = "") -> int:
    """Do all waiting work, or `only` one kind, until none is left; returns how many rows were worked on."""
    if at is not None:
        with time_machine.travel(at, tick=False):
            return run_background(only=only)
    with _PASS:
        return _until_nothing_waits([job for job in jobs.jobs() if not only or job.name == only])


def check_files(*, at: datetime) -> None:
    """Check the files that wait, in this process; tables in the interpreter that the tests have for it."""
    with files_read_here(), time_machine.travel(at, tick=False):
        for pk in checks.waiting_checks().order_by("pk").values_list("pk", flat=True):  # none leads to another
            jobs.perform(CHECK_JOB, pk)


@contextmanager
def files_read_here() -> Iterator[None]:
    """Read the files that are checked in this process; `run_background` by itself forks, as the site does.

    Forking a process that has imported every test costs more than most tests do.
    """
    with _PASS, mock.patch.object(checks, "run_bounded", _run_here):
        yield


def _run_here(work: Callable[[], Any] | Call, bounds: Bounds, **watch: Any) -> Any:
    return run_call(work, bounds, **watch) if isinstance(work, Call) else work()


def _until_nothing_waits(kinds: Sequence[jobs.Job]) -> int:
    done = 0
    while waiting := [
        (job.name, pk) for job in kinds for pk in job.waiting().order_by("pk").values_list("pk", flat=True)
    ]:
        for name, pk in waiting:
            jobs.perform(name, pk)
        done += len(waiting)
        assert done < 10_000, f"these rows wait for ever: {waiting[:5]}"
    return done


@contextmanager
def background_running() -> Iterator[None]:
    """Do background work in a thread during the block, for tests on a real database.

    A message wakes it, as it does the site's processes. To look for rows without being asked costs half a core.
    """
    over, woken, failures = threading.Event(), threading.Event(), []
    woken.set()

    def wake(**message: Any) -> None:
        woken.set()

    def work() -> None:
        try:
            while not over.is_set():
                woken.wait(LOST_S)
                woken.clear()
                run_background()
        except Exception as error:  # noqa: BLE001  # told to the test, which would otherwise wait in vain
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    before_task_publish.connect(wake)
    thread.start()
    try:
        yield
    finally:
        over.set()
        woken.set()
        thread.join()
        before_task_publish.disconnect(wake)
        assert not failures, failures

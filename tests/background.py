"""Does background work in the test itself, with the code of the background processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import time_machine
from django.db import connection

from core.background import jobs

# Held for a pass over all that waits: whoever asks for a second one meanwhile finds the first one's rows done, not half done.
_PASS = threading.RLock()


def run_background(*, at: datetime | None = None, only: str = "") -> int:
    """Do all waiting work, or `only` one kind, until none is left; returns how many rows were worked on."""
    if at is not None:
        with time_machine.travel(at, tick=False):
            return run_background(only=only)
    with _PASS:
        return _until_nothing_waits([job for job in jobs.jobs() if not only or job.name == only])


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
    """Do background work in a thread during the block, for tests on a real database."""
    over, failures = threading.Event(), []

    def work() -> None:
        try:
            while not over.wait(0.05):
                run_background()
        except Exception as error:  # noqa: BLE001  # told to the test, which would otherwise wait in vain
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        assert not failures, failures

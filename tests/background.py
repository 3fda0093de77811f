"""Background work without its process: what is waiting is done here and now, by the code that the process runs."""

from __future__ import annotations

from datetime import datetime

import time_machine

from competitions.background import jobs


def run_background(*, at: datetime | None = None) -> int:
    """Do all that waits, at this instant, as often as more comes of it; returns how many rows were worked on."""
    if at is not None:
        with time_machine.travel(at, tick=False):
            return run_background()
    done = 0
    while waiting := [(job.name, pk) for job in jobs.jobs() for pk in job.waiting().order_by("pk").values_list("pk", flat=True)]:
        for name, pk in waiting:
            jobs.perform(name, pk)
        done += len(waiting)
        assert done < 10_000, f"these rows wait for ever: {waiting[:5]}"
    return done

"""Where a waiting run stands in its queue, who would take it, and when it may start."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Max, OuterRef, Subquery

from competitions.compute.models import WORKER_SILENT_AFTER_S, ComputeWorker
from competitions.runs.models import Run, RunEvent
from competitions.runs.queue.matching import able_workers
from competitions.runs.queue.ranking import queue_places
from competitions.submissions.states import FINAL, HELD, State

LATELY: Final = 50  # ended runs that the estimate is made of
ENOUGH: Final = 3
Z_90: Final = 1.645  # nine of ten starts fall into the interval, if run times scatter as they did


@dataclass(frozen=True)
class QueuePosition:
    """Of a run that waits: `place` 1 is next. `worker_seen_at`: when a worker of the queue was last heard of."""

    place: int
    worker_seen_at: datetime | None

    def is_silent(self, now: datetime) -> bool:
        """No worker of the queue has been heard of lately."""
        return self.worker_seen_at is None or (now - self.worker_seen_at).total_seconds() > WORKER_SILENT_AFTER_S


def queue_positions(runs: Iterable[Run]) -> dict[UUID, QueuePosition]:
    """Positions of those of the runs that wait, by run; no query when none does."""
    waiting = {run.pk: run for run in runs if run.state == State.QUEUED}
    if not waiting:
        return {}
    workers = ComputeWorker.objects.filter(queue__in={run.queue_id for run in waiting.values()}, quarantined_at=None)
    seen_at = dict(workers.order_by().values_list("queue").annotate(at=Max("last_seen_at")))
    return {
        pk: QueuePosition(place, seen_at.get(waiting[pk].queue_id))
        for pk, place in queue_places(waiting.values()).items()
    }


def expected_start(run: Run, place: int, *, now: datetime) -> tuple[float, float] | None:
    """Seconds until a run at this place starts, as a 90 % interval; None while there is too little to go by."""
    slots = sum(worker.slots for worker in able_workers(run.queue_id, now=now))
    times = _recent_times(run.queue_id)
    if run.queue.is_paused or not slots or len(times) < ENOUGH:
        return None
    held = Run.objects.filter(queue=run.queue_id, state__in=HELD).count()
    return expected_wait(place=place, slots=slots, held=held, times=times)


def expected_wait(*, place: int, slots: int, held: int, times: list[float]) -> tuple[float, float]:
    """Seconds until the start, as a 90 % interval.

    With all slots busy, the run starts at the k-th end of a run, k = place + held - slots; ends come `slots` at a time,
    the first on average half a run from now.

    >>> expected_wait(place=1, slots=2, held=1, times=[10.0, 10.0, 10.0])
    (0.0, 0.0)
    >>> expected_wait(place=1, slots=1, held=1, times=[10.0, 10.0, 10.0])
    (0.3, 9.7)
    """
    ends = place + min(held, slots) - slots
    if ends <= 0:
        return 0.0, 0.0
    mean, spread = statistics.fmean(times), statistics.pstdev(times)
    wait = (ends - 0.5) * mean / slots
    # A run that goes on already has a random part left, as if uniform: mean²/12; each further one adds its own scatter.
    deviation = math.sqrt(mean**2 / 12 + (ends - 1) * spread**2) / slots
    return round(max(0.0, wait - Z_90 * deviation), 1), round(wait + Z_90 * deviation, 1)


def _recent_times(queue_id: int) -> list[float]:
    """Seconds from hand-out to end of the queue's last runs."""
    leased = RunEvent.objects.filter(run=OuterRef("run"), attempt=OuterRef("attempt"), target=State.LEASED)
    ended = RunEvent.objects.filter(run__queue=queue_id, target__in=FINAL).exclude(
        source__in=(State.CHECKING, State.QUEUED)
    )
    rows = ended.annotate(leased_at=Subquery(leased.order_by("-pk").values("at")[:1])).order_by("-pk")
    return [(at - since).total_seconds() for at, since in rows.values_list("at", "leased_at")[:LATELY] if since]

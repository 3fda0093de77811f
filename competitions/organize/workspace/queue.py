"""A competition's queue: its workers, what waits, and how long a new run waits."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from competitions.compute.models import ComputeWorker, Queue
from competitions.runs.models import Run
from competitions.runs.queue.positions import queue_wait
from competitions.submissions.states import HELD, State

MOST_COUNTED: Final = 1000
MOST_WORKERS: Final = 20  # that are listed, those heard of last


@dataclass(frozen=True)
class QueueState:
    """`wait_s`: interval until a run queued now would start; None with too little data."""

    queue: Queue
    workers: list[tuple[ComputeWorker, str]]
    waiting: int
    running: int
    wait_s: tuple[float, float] | None
    answering: int


def queue_state(queue: Queue, now: datetime) -> QueueState:
    """As it is at this instant, with the runs of all competitions that use it."""
    workers = list(ComputeWorker.objects.filter(queue=queue).order_by("-last_seen_at")[:MOST_WORKERS])
    runs = Run.objects.filter(queue=queue)
    waiting = runs.filter(state=State.QUEUED)[:MOST_COUNTED].count()
    states = [(worker, worker_state(worker, now)) for worker in workers]
    return QueueState(
        queue=queue,
        workers=states,
        waiting=waiting,
        running=runs.filter(state__in=HELD).count(),
        wait_s=queue_wait(queue, waiting + 1, now=now),
        answering=sum(state == "answers" for _, state in states),
    )


def worker_state(worker: ComputeWorker, now: datetime) -> str:
    """One word for whether it takes runs."""
    if worker.quarantined_at is not None:
        return "quarantined"
    if worker.is_silent(now):
        return "silent"
    return "drained" if worker.drained_at is not None else "answers"

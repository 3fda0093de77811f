"""Kinds of background work: how to find the rows that ask for it, and what to do with one.

A message says that a queue has work, and nothing else. It may be lost, come twice or late: what is done follows from the rows,
and who is served from the turns of those who ask: the asker served longest ago is next, with one piece of work at a time.

A team's, a person's or a competition's hundred files so hold up nobody else's one. A claim reads the index of those who wait, and
costs the same however many rows each of them has.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Min, QuerySet
from django.utils import timezone

from core.background.rows import Claim, unclaimed
from core.celery import Broker, app
from core.models import Turn

ON_OUR_SIDE: Final = "because of an error on our side; administrators can find details in the log."
OUR_ERROR: Final = f"It could not be read {ON_OUR_SIDE} Upload it again."
TRIED: Final = 20  # other processes may take the first ones at the same time


@dataclass(frozen=True)
class TurnTaken:
    """The turn of an asker, while one of its rows is worked on."""

    asker: str
    claim: Claim


def turn_ask(queue: str, asker: str, *, now: datetime) -> None:
    """Put the asker in line. Its row must be committed: the end of a turn looks for more rows."""
    turns = Turn.objects.filter(queue=queue, asker=asker)
    if turns.filter(waiting_since__isnull=False).exists() or turns.update(waiting_since=now):
        return
    Turn.objects.bulk_create([Turn(queue=queue, asker=asker, waiting_since=now)], ignore_conflicts=True)


def turn_take(queue: str, *, now: datetime, lease_s: float) -> TurnTaken | None:
    """The turn of the asker that waits, is not being served and was served longest ago, or None."""
    waiting = turns_waiting(queue, now=now)
    order = F("served_at").asc(nulls_first=True), "pk"
    for pk, asker in waiting.order_by(*order).values_list("pk", "asker")[:TRIED]:
        claim_id = uuid.uuid4()
        until = now + timedelta(seconds=lease_s)
        if waiting.filter(pk=pk).update(claim_id=claim_id, claimed_until=until, served_at=now):
            return TurnTaken(asker, Claim(Turn.objects.all(), pk, claim_id, lease_s))
    return None


def turns_waiting(queue: str, *, now: datetime) -> QuerySet[Turn]:
    """The turns of those who wait and have nothing in work."""
    return Turn.objects.filter(unclaimed(now), queue=queue, waiting_since__isnull=False)


@contextmanager
def turn_kept(turn: TurnTaken) -> Iterator[None]:
    """Keep the turn during the block; afterwards the asker no longer waits."""
    try:
        with turn.claim.kept():
            yield
    finally:
        turn.claim.release(waiting_since=None)


def after_commit(work: Callable[..., Any], *arguments: Any) -> None:
    """Call `work` when the transaction is committed, at once where there is none.

    What was committed stands: Django logs what goes wrong then, and the request goes on to its answer.
    """

    def robust() -> None:  # Django asks for the name of what failed, and a `partial` has none
        work(*arguments)

    transaction.on_commit(robust, robust=True)


log = structlog.get_logger(__name__)
TASK: Final = "podium.background"
RESENT_AT_ONCE: Final = 200  # askers of a kind
WOKEN_AT_ONCE: Final = 8  # messages on a queue: each is followed by another while anything waits


class Queue(StrEnum):
    """Celery's queues, each with its own processes, so that short work never waits for long work."""

    SHORT = "background"
    LONG = "background-long"


@dataclass(frozen=True)
class Job:
    """A kind of background work: `waiting` gives the rows that ask for it, `perform` does it for one.

    `waiting` includes claimed rows (`AskedRow`); `perform` does nothing for a row that no longer asks. `asked_at`
    names the field with the time of asking. `refused` gives rows that were worked on for nothing by their sender's
    fault: `allowance.py` counts them.
    """

    name: str
    waiting: Callable[[], QuerySet[Any]]
    perform: Callable[[int], None]
    asked_at: str = "created_at"
    queue: Queue = Queue.SHORT
    refused: Callable[[], QuerySet[Any]] | None = None


_jobs: dict[str, Job] = {}


def register(job: Job) -> None:
    """Make a kind of work known to this process."""
    _jobs[job.name] = job


def jobs() -> list[Job]:
    """All kinds of work."""
    return list(_jobs.values())


def perform(name: str, pk: int) -> None:
    """Do the work of one row, if it still asks for it, out of turn."""
    _jobs[name].perform(pk)


def work(queue: Queue) -> bool:
    """Do one piece of work for whoever's turn it is; False when there is none.

    Where the work raises, the asker waits for the reconciler's next round, so that a fault of ours is not repeated without end.
    """
    lease_s = settings.BACKGROUND_LEASE_S
    turn = turn_take(queue, now=timezone.now(), lease_s=lease_s)
    if turn is None:
        return False
    try:
        with turn_kept(turn):
            row = _next_row(queue, turn.asker)
            if row is not None:
                perform(*row)
        if _next_row(queue, turn.asker) is not None:
            turn_ask(queue, turn.asker, now=timezone.now())
    finally:
        if turns_waiting(queue, now=timezone.now()).exists():
            _wake(queue)
    return True


def _next_row(queue: Queue, asker: str) -> tuple[str, int] | None:
    """The asker's oldest row of this queue that nobody works on, with its kind."""
    now, oldest = timezone.now(), list[tuple[datetime, str, int]]()
    for job in jobs():
        if job.queue == queue:
            rows = job.waiting().filter(unclaimed(now), asker=asker).order_by("pk")
            oldest += [(asked_at, job.name, pk) for asked_at, pk in rows.values_list(job.asked_at, "pk")[:1]]
    return min(oldest)[1:] if oldest else None


def send(name: str, pk: int) -> bool:
    """Queue the row's asker for a turn and wake a process; False if the broker is away."""
    job = _jobs[name]
    asker = job.waiting().filter(pk=pk).values_list("asker", flat=True).first()
    if asker is None:  # nobody asks for it any more
        return True
    turn_ask(job.queue, asker, now=timezone.now())
    return _wake(job.queue)


def send_after_commit(name: str, pk: int) -> None:
    """Send the row when the transaction that made it is committed."""
    after_commit(send, name, pk)


def waiting_since(queue: Queue, *, now: datetime) -> datetime | None:
    """The time since which a row of this queue has waited that nobody works on; None where none waits."""
    kinds = [job for job in jobs() if job.queue == queue]
    oldest = [job.waiting().filter(unclaimed(now)).aggregate(at=Min(job.asked_at))["at"] for job in kinds]
    return min((at for at in oldest if at is not None), default=None)


def resend(*, now: datetime) -> int:
    """Wake processes for waiting rows whose message or process was lost; a step of the reconciler."""
    for job in jobs():
        lost = job.waiting().filter(unclaimed(now)).order_by().values_list("asker", flat=True).distinct()
        for asker in list(lost[:RESENT_AT_ONCE]):
            turn_ask(job.queue, asker, now=now)
    woken = 0
    for queue in Queue:
        for _ in range(turns_waiting(queue, now=now)[:WOKEN_AT_ONCE].count()):
            if not _wake(queue):
                return woken
            woken += 1
    return woken


def _wake(queue: Queue) -> bool:
    return Broker.send(TASK, queue=queue.value, args=[queue.value], expires=10 * settings.BACKGROUND_LEASE_S)


@app.task(name=TASK)
def background(queue: str) -> None:
    """Do one piece of work of a queue."""
    work(Queue(queue))

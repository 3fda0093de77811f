"""Kinds of background work: how to find the rows that ask for it, and what to do with one.

A message names a kind and a row, and nothing else. It may be lost, come twice or late: what is done follows from the row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from celery.exceptions import OperationalError as CeleryOperationalError
from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from core.after_commit import after_commit
from core.background.rows import unclaimed
from core.celery import app

log = structlog.get_logger(__name__)
QUEUE: Final = "background"
TASK: Final = "podium.background"
RESENT_AT_ONCE: Final = 200


@dataclass(frozen=True)
class Job:
    """One kind of work. `waiting` gives the rows that ask for it, claimed or not; `perform` does it for one, if it still asks.

    `asked_at` is the field that says since when a row asks.
    """

    name: str
    waiting: Callable[[], QuerySet[Any]]
    perform: Callable[[int], None]
    asked_at: str = "created_at"


_jobs: dict[str, Job] = {}


def register(job: Job) -> None:
    """Make a kind of work known to this process."""
    _jobs[job.name] = job


def jobs() -> list[Job]:
    """All kinds of work."""
    return list(_jobs.values())


def perform(name: str, pk: int) -> None:
    """Do the work of one row, if it still asks for it."""
    _jobs[name].perform(pk)


def send(name: str, pk: int) -> bool:
    """Name a row to the background processes. False when the broker is away: the reconciler sends it again."""
    _jobs[name].waiting().filter(pk=pk).update(sent_at=timezone.now())
    try:
        app.send_task(TASK, args=[name, pk], queue=QUEUE, expires=10 * settings.BACKGROUND_LEASE_S)
    except (OperationalError, CeleryOperationalError, OSError) as error:
        log.warning("background_not_sent", job=name, row=pk, error=str(error))
        return False
    return True


def send_after_commit(name: str, pk: int) -> None:
    """Send the row when the transaction that made it is committed."""
    after_commit(send, name, pk)


def resend(*, now: datetime) -> int:
    """For the reconciler: name again what asks for work and nobody does, because its message or its process was lost."""
    stale = Q(sent_at=None) | Q(sent_at__lte=now - timedelta(seconds=settings.BACKGROUND_LEASE_S))
    sent = 0
    for job in jobs():
        lost = job.waiting().filter(stale, unclaimed(now)).order_by(F("sent_at").asc(nulls_first=True), "pk")
        for pk in list(lost.values_list("pk", flat=True)[:RESENT_AT_ONCE]):
            if not send(job.name, pk):
                return sent
            sent += 1
    return sent

"""The periodic look at the whole: leases that ran out, queues that nobody woke, uploads that nobody finished.

Everything here may run twice, late, or on two machines at once: each step is a compare-and-swap.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import takewhile
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F

from competitions.compute.models import Queue
from competitions.compute.wakeups import wake
from competitions.resources.uploads import remove_expired_uploads
from competitions.runs.models import Run, StepFailures
from competitions.runs.retries import attempt_lost
from competitions.submissions.states import HELD, State

log = structlog.get_logger(__name__)
BATCH = 500
LEASES = "leases_expired"


@dataclass(frozen=True)
class Reconciled:
    """What one round did."""

    leases_expired: int
    queues_rung: int
    uploads_removed: int
    further: dict[str, int] = field(default_factory=dict)


Step = Callable[..., int]
_steps: dict[str, Step] = {}


def reconcile_step(name: str, step: Step) -> None:
    """Have `step(now=...)` done in every round, for apps above this one; it returns how many things it did."""
    _steps[name] = step


def reconcile(*, now: datetime, spare_leases: bool = False) -> Reconciled:
    """One round. `spare_leases`: the site was away itself, so that a silent worker may only not have been heard."""
    return Reconciled(
        leases_expired=0 if spare_leases else _done(LEASES, expire_leases, now),
        queues_rung=_done("queues_rung", ring_waiting_queues, now),
        uploads_removed=_done("uploads_removed", remove_expired_uploads, now),
        further={name: _done(name, step, now) for name, step in _steps.items()},
    )


def _done(name: str, step: Step, now: datetime) -> int:
    """What the step did. One that fails keeps no other from its turn: it is logged and counted, and the next round tries again.

    Raises `OperationalError` or `InterfaceError` when the database is away, for all steps alike.
    """
    try:
        return step(now=now)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not _database_answers():
            raise
        log.exception("reconcile_step_failed", step=name)
        _count_failure(name)
        return 0


def _database_answers() -> bool:
    """Whether a statement failed by itself, at a deadlock or a time-out, and not because the database is away."""
    return connection.connection is not None and connection.is_usable()


def _count_failure(name: str) -> None:
    StepFailures.objects.get_or_create(step=name)
    StepFailures.objects.filter(step=name).update(count=F("count") + 1)


def expire_leases(*, now: datetime) -> int:
    """Give every run whose lease ran out back to its queue as a new attempt, or end it after the last.

    A run that cannot be taken back counts as a failure of the step and keeps no other waiting.
    """
    expired = Run.objects.filter(state__in=HELD, lease_expires_at__lte=now).values_list("pk", flat=True)[:BATCH]
    return sum(_done(LEASES, partial(_expire, run_id), now) for run_id in list(expired))


@transaction.atomic
def _expire(run_id: UUID, *, now: datetime) -> bool:
    run = (
        Run.objects.select_for_update(of=("self",))
        .select_related("worker", "queue")
        .filter(pk=run_id, state__in=HELD, lease_expires_at__lte=now)
        .first()
    )
    if run is None:  # it answered in the meantime
        return False
    worker = run.worker.name if run.worker else "unknown"
    log.warning("lease_expired", submission=run.submission_id, run=str(run.pk), attempt=run.attempt, worker=worker)
    attempt_lost(
        run,
        code="lease_expired",
        detail=f"The compute worker {worker!r} was not heard of in time.",
        actor="reconciler",
        is_answered=False,
        now=now,
    )
    return True


def ring_waiting_queues(*, now: datetime) -> int:
    """Ring for every queue that has something to hand out: the bell of its submission may have been lost.

    A broker that does not take one wake-up is asked no further: each would wait for its time-out, and hold up the round.
    """
    waiting = Queue.objects.filter(is_paused=False, runs__state=State.QUEUED, runs__not_before__lte=now).distinct()
    return sum(1 for _ in takewhile(lambda queue: wake(queue.bell), waiting))

"""What the reconciler does for runs: leases that ran out, queues that nobody woke."""

from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef

from competitions.compute.models import Queue
from competitions.compute.wakeups import wake
from competitions.runs.models import Run
from competitions.runs.retries import attempt_lost
from competitions.submissions.states import HELD, State
from core.reconciler import guarded

log = structlog.get_logger(__name__)
BATCH: Final = 500
LEASES: Final = "leases_expired"


def expire_leases(*, now: datetime) -> int:
    """Give every run whose lease ran out back to its queue as a new attempt, or end it after the last.

    A run that cannot be taken back counts as a failure of the step and keeps no other waiting.
    """
    expired = Run.objects.filter(state__in=HELD, lease_expires_at__lte=now).values_list("pk", flat=True)[:BATCH]
    return sum(guarded(LEASES, partial(_expire, run_id), now=now) for run_id in list(expired))


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


def wake_waiting_queues(*, now: datetime) -> int:
    """Wake the workers of every queue that has something to hand out: the wake-up of its submission may have been lost.

    A broker that does not take one wake-up is asked no further: each would wait for its time-out, and hold up the round.
    """
    waiting = Run.objects.filter(queue=OuterRef("pk"), state=State.QUEUED, not_before__lte=now)
    queues = Queue.objects.filter(Exists(waiting), is_paused=False)
    return sum(1 for _ in takewhile(lambda queue: wake(queue.wakeup_queue), queues))

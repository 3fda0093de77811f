"""Leases that ran out: for the reconciler."""

from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction

from competitions.runs.leases.retries import end_faulty_attempt
from competitions.runs.models import Run
from competitions.submissions.states import HELD
from core.reconciler import run_guarded

log = structlog.get_logger(__name__)
BATCH: Final = 500
LEASES: Final = "leases_expired"


def expire_leases(*, now: datetime) -> int:
    """Give every run whose lease ran out back to its queue as a new attempt, or end it after the last.

    A run that cannot be taken back counts as a failure of the step and keeps no other waiting.
    """
    expired = Run.objects.filter(state__in=HELD, lease_expires_at__lte=now).values_list("pk", flat=True)[:BATCH]
    return sum(run_guarded(LEASES, partial(_expire, run_id), now=now) for run_id in list(expired))


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
    end_faulty_attempt(
        run,
        code="lease_expired",
        detail=f"The compute worker {worker!r} was not heard of in time.",
        actor="reconciler",
        is_answered=False,
        now=now,
    )
    return True

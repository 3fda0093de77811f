"""The waiting runs of a queue that a compute worker may be given."""

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, When

from competitions.catalog.models import Phase
from competitions.catalog.models.sections.runs import Isolation
from competitions.compute.models import WORKER_SILENT_AFTER_S, ComputeWorker
from competitions.runs.accounting.gpu_hours import within_gpu_hours
from competitions.runs.models import Attempt, Run
from competitions.submissions.states import Reason, State
from workers.protocol.hosts import HeldLimit
from workers.protocol.plan import Needs

MAY_TAKE: Final = {  # by a worker's role
    ComputeWorker.Role.INGESTION: (Needs.INGESTION,),
    ComputeWorker.Role.SCORING: (Needs.SCORING,),
    ComputeWorker.Role.BOTH: tuple(Needs),
}
ELSEWHERE_FIRST_S: Final = 120  # how long a run that failed on a worker waits for another one


def fitting_runs(worker: ComputeWorker, *, free_gpus: int, now: datetime) -> QuerySet[Run]:
    """Waiting runs that this worker could take, without those that another should try first."""
    waiting = Run.objects.filter(queue=worker.queue, state=State.QUEUED, not_before__lte=now, gpus__lte=free_gpus)
    if worker.role != ComputeWorker.Role.BOTH:
        waiting = waiting.filter(needs__in=MAY_TAKE[ComputeWorker.Role(worker.role)])
    waiting = _held(_isolated(waiting, worker), worker)
    if free_gpus:
        waiting = within_gpu_hours(waiting, worker.queue, now=now)
    retried = waiting.filter(faults__gt=0)
    welcome = list(_elsewhere_first(retried, worker, now).values_list("pk", flat=True)) if retried.exists() else []
    # What fails here from now on is for the next claim, which knows it.
    return waiting.filter(Q(faults=0) | Q(pk__in=welcome)) if welcome else waiting.filter(faults=0)


def _isolated(waiting: QuerySet[Run], worker: ComputeWorker) -> QuerySet[Run]:
    """Leave out code of phases in gVisor, for a worker that has none.

    What is only to be scored runs anywhere.
    """
    phases = Phase.objects.filter(isolation=Isolation.SANDBOXED)
    if worker.has_sandbox or not phases.exists():
        return waiting
    return waiting.exclude(~Q(needs=Needs.SCORING), submission__phase__in=phases)


def _held(waiting: QuerySet[Run], worker: ComputeWorker) -> QuerySet[Run]:
    """Leave out runs that need a limit which the worker's host holds nobody to.

    All need those of memory and processes. Cores that a run may not use are another's where the host has more of them than the run may use.
    """
    if worker.unheld & {HeldLimit.MEMORY, HeldLimit.PROCESSES}:
        return waiting.none()
    if HeldLimit.CPUS not in worker.unheld:
        return waiting
    if worker.slots > 1:
        return waiting.none()
    return waiting.filter(submission__phase__cpus__gte=worker.host.get("cores") or math.inf)


def may_take(worker: ComputeWorker, run: Run) -> bool:
    """True where the next part of the run is for a worker of this role and isolation."""
    if run.needs not in MAY_TAKE[ComputeWorker.Role(worker.role)]:
        return False
    return run.needs == Needs.SCORING or worker.has_sandbox or not run.submission.phase.is_sandboxed


def _elsewhere_first(waiting: QuerySet[Run], worker: ComputeWorker, now: datetime) -> QuerySet[Run]:
    """Leave out runs that failed on this worker by our fault while another worker may take them."""
    here = Attempt.objects.filter(run=OuterRef("pk"), worker=worker, reason=Reason.INFRASTRUCTURE)
    others = [other for other in able_workers(worker.queue_id, now=now) if other.pk != worker.pk]
    with_gpu = [other.pk for other in others if other.gpu_count]
    patient = Q(faults__gt=0, not_before__gt=now - timedelta(seconds=ELSEWHERE_FIRST_S))
    fresh = Exists(_untried([other.pk for other in others]))
    fresh_with_gpu = Exists(_untried(with_gpu))
    return waiting.annotate(
        failed_here=Exists(here), other=Case(When(gpus=0, then=fresh), default=fresh_with_gpu)
    ).exclude(patient & Q(failed_here=True, other=True))


def _untried(workers: Iterable[int]) -> QuerySet[ComputeWorker]:
    """The workers among these on which the outer run has not failed."""
    failed = Attempt.objects.filter(run=OuterRef(OuterRef("pk")), worker=OuterRef("pk"), reason=Reason.INFRASTRUCTURE)
    return ComputeWorker.objects.filter(pk__in=list(workers)).exclude(Exists(failed))


def able_workers(queue_id: int, *, now: datetime) -> list[ComputeWorker]:
    """Workers of a queue that would take a run now: heard of lately, neither quarantined nor drained."""
    heard_of = now - timedelta(seconds=max(WORKER_SILENT_AFTER_S, settings.LEASE_S))
    return list(
        ComputeWorker.objects.filter(queue=queue_id, last_seen_at__gte=heard_of, quarantined_at=None, drained_at=None)
    )

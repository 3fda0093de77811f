"""Whose turn it is: the order in which a queue hands out its runs, and what a worker may not be given."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from competitions.compute.models import WORKER_SILENT_AFTER_S, ComputeWorker
from competitions.submissions.models import Attempt, Run, TeamTurn
from competitions.submissions.states import HELD, Kind, Reason, State

PREDICTIONS: Final = Q(submission__kind=Kind.PREDICTION)  # these alone have no ingestion stage
# Both containers at once, on one worker: nothing for one that runs only half of a run.
BESIDE_SCORING: Final = Q(task__ingestion_only_during_scoring=True, task__ingestion_program__isnull=False)
ELSEWHERE_FIRST_S: Final = 120  # how long a run that failed on a worker waits for another one


def waiting_runs(worker: ComputeWorker, *, free_gpus: int, now: datetime) -> QuerySet[Run]:
    """Runs this worker could take, next first.

    The order: phase priority, then the team with the fewest runs in flight, then the team that was served longest ago,
    then age. Left out: runs of teams at the queue's cap, and runs that failed on this worker while another may take them.
    """
    waiting = Run.objects.filter(queue=worker.queue, state=State.QUEUED, not_before__lte=now, gpus__lte=free_gpus)
    waiting = in_fair_order(_fit_for(worker, waiting), cap=worker.queue.max_in_flight_per_team)
    return _elsewhere_first(waiting, worker, now)


def in_fair_order(waiting: QuerySet[Run], *, cap: int | None = None) -> QuerySet[Run]:
    """Waiting runs, next first, without those of teams that have `cap` runs in flight."""
    in_flight = (
        Run.objects.filter(team=OuterRef("team"), state__in=HELD)
        .order_by()
        .values("team")
        .annotate(n=Count("*"))
        .values("n")
    )
    served = TeamTurn.objects.filter(team=OuterRef("team"), queue=OuterRef("queue")).values("served_at")
    counted = waiting.annotate(team_in_flight=Coalesce(Subquery(in_flight), 0), team_served_at=Subquery(served[:1]))
    if cap is not None:
        counted = counted.filter(team_in_flight__lt=cap)
    return counted.order_by("-priority", "team_in_flight", F("team_served_at").asc(nulls_first=True), "queued_at", "pk")


def _fit_for(worker: ComputeWorker, waiting: QuerySet[Run]) -> QuerySet[Run]:
    """Those with a stage that a worker of this role may run."""
    if worker.role == ComputeWorker.Role.INGESTION:
        return waiting.filter(~PREDICTIONS, ingested_attempt=None).exclude(BESIDE_SCORING)
    if worker.role == ComputeWorker.Role.SCORING:
        return waiting.filter(PREDICTIONS | Q(ingested_attempt__isnull=False)).exclude(BESIDE_SCORING & ~PREDICTIONS)
    return waiting


def _elsewhere_first(waiting: QuerySet[Run], worker: ComputeWorker, now: datetime) -> QuerySet[Run]:
    """Without the runs that failed on this worker by our fault, for as long as another worker may come for them."""
    here = Attempt.objects.filter(run=OuterRef("pk"), worker=worker, reason=Reason.INFRASTRUCTURE)
    others = [one for one in able_workers(worker.queue_id, now=now) if one.pk != worker.pk]
    with_gpu = [one.pk for one in others if one.gpu_count]
    patient = Q(faults__gt=0, not_before__gt=now - timedelta(seconds=ELSEWHERE_FIRST_S))
    fresh = Exists(_untried([one.pk for one in others]))
    fresh_with_gpu = Exists(_untried(with_gpu))
    return waiting.annotate(
        failed_here=Exists(here), other=Case(When(gpus=0, then=fresh), default=fresh_with_gpu)
    ).exclude(patient & Q(failed_here=True, other=True))


def _untried(workers: Iterable[int]) -> QuerySet[ComputeWorker]:
    """Of these workers, those on which the outer run has not failed."""
    failed = Attempt.objects.filter(run=OuterRef(OuterRef("pk")), worker=OuterRef("pk"), reason=Reason.INFRASTRUCTURE)
    return ComputeWorker.objects.filter(pk__in=list(workers)).exclude(Exists(failed))


def able_workers(queue_id: int, *, now: datetime) -> list[ComputeWorker]:
    """Workers of a queue that would take a run now: heard of lately, neither quarantined nor drained."""
    heard_of = now - timedelta(seconds=max(WORKER_SILENT_AFTER_S, settings.LEASE_S))
    return list(
        ComputeWorker.objects.filter(queue=queue_id, last_seen_at__gte=heard_of, quarantined_at=None, drained_at=None)
    )


def team_served(*, run: Run, now: datetime) -> None:
    """Remember that it was this team's turn. Call in the transaction that leased the run."""
    TeamTurn.objects.update_or_create(team=run.team, queue=run.queue, defaults={"served_at": now})

"""Actions of organizers and administrators on compute workers."""

from datetime import datetime

from django.db.models import QuerySet

from competitions.compute.models import ComputeWorker


def release_workers(workers: QuerySet[ComputeWorker]) -> int:
    """Let workers that are in quarantine have runs again; returns how many were."""
    held = workers.exclude(quarantined_at=None)
    return held.update(quarantined_at=None, infrastructure_failures=0, failed_teams=[])


def drain_workers(workers: QuerySet[ComputeWorker], now: datetime) -> int:
    """Give workers no more runs; what they have goes on to its end. Returns how many had been in service."""
    return workers.filter(drained_at=None).update(drained_at=now)


def undrain_workers(workers: QuerySet[ComputeWorker]) -> int:
    """Take drained workers back into service; returns how many were drained."""
    return workers.exclude(drained_at=None).update(drained_at=None)

"""The periodic look at the whole: each app registers what it fixes or carries on, and how often.

Every step may run twice, late, or on two machines at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F

from core.models import StepFailures

log = structlog.get_logger(__name__)


@dataclass
class Step:
    """One step. `run(now=...)` returns a count; `spares`: skipped while the site has just come back."""

    name: str
    run: Callable[..., int]
    every: timedelta = timedelta(0)
    spares: bool = False
    last_at: datetime | None = None  # in this process

    def is_due(self, now: datetime) -> bool:
        """True once its interval is over; a clock that was set back does not delay it."""
        return self.last_at is None or not timedelta(0) <= now - self.last_at < self.every


_steps: dict[str, Step] = {}


def reconciler_step(
    name: str, run: Callable[..., int], *, every: timedelta = timedelta(0), spares: bool = False
) -> None:
    """Register a step for every round, or at most once in an interval; they run in this order."""
    _steps[name] = Step(name, run, every, spares)


def steps() -> list[Step]:
    """All steps, in their order."""
    return list(_steps.values())


def reconcile(*, now: datetime, spare_leases: bool = False) -> dict[str, int]:
    """Run every step that is due once; returns what each did.

    `spare_leases`: the site itself was away, so steps that judge workers by silence are left out.
    """
    return {
        step.name: _run_step(step, now)
        for step in _steps.values()
        if step.is_due(now) and not (spare_leases and step.spares)
    }


def _run_step(step: Step, now: datetime) -> int:
    step.last_at = now
    return run_guarded(step.name, step.run, now=now)


def run_guarded(name: str, run: Callable[..., int], *, now: datetime) -> int:
    """Run a step and return its count; a failure is logged and counted, and the other steps go on.

    Raises `OperationalError` or `InterfaceError` when the database is away, for all steps alike.
    """
    try:
        return run(now=now)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not _database_answers():
            raise
        log.exception("reconcile_step_failed", step=name)
        StepFailures.objects.get_or_create(step=name)
        StepFailures.objects.filter(step=name).update(count=F("count") + 1)
        return 0


def _database_answers() -> bool:
    """True if the database is there, so that a statement failed by itself, at a deadlock or a time-out."""
    return connection.connection is not None and connection.is_usable()

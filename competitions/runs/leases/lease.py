"""The lease by which a worker holds a run. Its id fences: whoever speaks with an old one gets `LeaseLost` and changes nothing."""

from datetime import datetime, timedelta

from django.conf import settings

from competitions.runs.models import Attempt, Run
from competitions.runs.refusals import AttemptAnswered, LeaseLost
from competitions.submissions.states import HELD


def lease_end(now: datetime) -> datetime:
    """When a lease ends that is given or renewed now."""
    return now + timedelta(seconds=settings.LEASE_S)


def require_lease(*, run_id: str, attempt: int, lease_id: str) -> None:
    """Lock the run; `LeaseLost` unless this lease still holds it. Call inside a transaction."""
    held = Run.objects.select_for_update().filter(pk=run_id, attempt=attempt, lease_id=lease_id, state__in=HELD)
    if not held.values_list("pk"):
        raise LeaseLost


def held_run(*, run_id: str, attempt: int, lease_id: str) -> Run:
    """The run, locked, if this lease still holds it. Call inside a transaction.

    Raises `LeaseLost`, or `AttemptAnswered` where the attempt has ended by its own result.
    """
    run = locked_run(run_id)
    if run is None or not is_held(run, attempt=attempt, lease_id=lease_id):
        answered = Attempt.objects.filter(run_id=run_id, attempt=attempt, is_answered=True).values_list(
            "lease_id", flat=True
        )
        raise AttemptAnswered if lease_id in map(str, answered) else LeaseLost
    return run


def locked_run(run_id: str) -> Run | None:
    """The run, locked, whoever holds it. Call inside a transaction."""
    runs = Run.objects.select_for_update(of=("self",)).select_related("submission__phase", "worker", "queue")
    return runs.filter(pk=run_id).first()


def is_held(run: Run, *, attempt: int, lease_id: str) -> bool:
    """Whether this lease holds the run, as it was read."""
    return (run.attempt, str(run.lease_id)) == (attempt, lease_id) and run.state in HELD

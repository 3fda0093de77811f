"""Retries of attempts that failed by our fault, and limits on faulty workers and runs."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction

from competitions.compute.models import ComputeWorker
from competitions.runs.models import Attempt, Run
from competitions.runs.transitions import record_attempt, run_move
from competitions.submissions.states import HELD, Reason, State
from competitions.teams.models import Membership
from core.reconciler import run_guarded

log = structlog.get_logger(__name__)
WORKER_BREAKER: Final = 3  # teams whose runs failed on a worker in a row
RUN_BREAKER: Final = 2  # workers that were lost while they held the same run
# Ours to fix, but on no particular host.
NOT_THE_WORKERS: Final = ("image_missing", "image_pull_failed", "mirror_unreachable")
RUN_QUARANTINED: Final = "run_quarantined"


def log_fields(run: Run) -> dict[str, object]:
    """The fields of every line of the log about a run."""
    return {"submission": run.submission_id, "run": str(run.pk), "attempt": run.attempt}


def retry_elsewhere(run: Run, *, code: str, detail: str, actor: str, now: datetime) -> State:
    """Our fault, as the worker says: count it against the worker, and try again elsewhere."""
    if run.worker is not None:
        log.warning("failed_on_worker", worker=run.worker.name, code=code, **log_fields(run))
        if code not in NOT_THE_WORKERS:
            _count(run.worker, run, now)
    return end_faulty_attempt(run, code=code, detail=detail, actor=actor, now=now, is_answered=True)


def _is_of_other_people(team: int, counted: list[int]) -> bool:
    """True for a team that has no members in common with the teams already counted.

    People who share teams must not be able to take a worker out of service.
    """
    people = Membership.objects.filter(team=team).values("user")
    return team not in counted and not Membership.objects.filter(team__in=counted, user__in=people).exists()


def _count(worker: ComputeWorker, run: Run, now: datetime) -> None:
    """Count a failure against its worker, unless people of one counted already are in the run's team.

    The worker is quarantined after failures of `WORKER_BREAKER` teams in a row.
    """
    # Read anew under its lock, so that two of its slots that fail at once both count.
    worker = ComputeWorker.objects.select_for_update(no_key=True).get(pk=worker.pk)
    if not _is_of_other_people(run.team_id, worker.failed_teams):
        return
    worker.failed_teams = [*worker.failed_teams, run.team_id][-WORKER_BREAKER:]
    worker.infrastructure_failures += 1
    if worker.infrastructure_failures >= WORKER_BREAKER and worker.quarantined_at is None:
        worker.quarantined_at = now
        log.error("worker_quarantined", worker=worker.name, **log_fields(run))
    worker.save(update_fields=["infrastructure_failures", "failed_teams", "quarantined_at"])


def end_faulty_attempt(run: Run, *, code: str, detail: str, actor: str, now: datetime, is_answered: bool) -> State:
    """End an attempt that failed by our fault: queue it again, or hold it as failed.

    It is held as `infrastructure` after the last of `MAX_ATTEMPTS`, and when two different workers were lost with it.
    """
    victims = [] if is_answered else _workers_lost(run)
    outcome = _outcome(run, victims)
    if outcome == State.FAILED and len(victims) >= RUN_BREAKER:
        code = RUN_QUARANTINED
        detail = f"The compute workers {' and '.join(victims)} were lost while they had this run. It is held until a person runs it again."
        log.error("run_quarantined", workers=victims, **log_fields(run))
    changes: dict[str, Any] = {"faults": run.faults + 1, "code": code, "detail": detail}
    if outcome == State.FAILED:
        changes["reason"] = Reason.INFRASTRUCTURE
    if outcome == State.QUEUED:
        changes = _retry_changes(run, now)
    record_attempt(run, outcome=outcome, reason=Reason.INFRASTRUCTURE, detail=detail, now=now, is_answered=is_answered)
    run_move(run, target=outcome, actor=actor, now=now, note=detail, **changes)
    return outcome


def _outcome(run: Run, victims: list[str]) -> State:
    if run.cancel_requested_at is not None:
        return State.CANCELLED
    is_last = run.faults + 1 >= settings.MAX_ATTEMPTS or len(victims) >= RUN_BREAKER
    return State.FAILED if is_last else State.QUEUED


def _retry_changes(run: Run, now: datetime) -> dict[str, object]:
    """Back-off: at once after the first fault, then later and later."""
    pauses = settings.RETRY_PAUSES_S
    wait_s = pauses[min(run.faults, len(pauses) - 1)]
    return {
        "faults": run.faults + 1,
        "worker": None,
        "not_before": now + timedelta(seconds=wait_s),
        "started_at": None,
        "next_attempt": True,
    }


def _workers_lost(run: Run) -> list[str]:
    """Names of the workers lost while they ran this run since it was queued, including this one."""
    lost = Attempt.objects.filter(run=run, is_answered=False, has_run=True, ended_at__gte=run.queued_at)
    earlier = lost.filter(reason=Reason.INFRASTRUCTURE)  # a worker whose job the cluster ended was not lost
    names = set(earlier.exclude(worker=None).values_list("worker__name", flat=True))
    if run.worker is not None and run.started_at is not None:
        names.add(run.worker.name)
    return sorted(names)


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
        detail=f"The compute worker {worker!r} did not report in time.",
        actor="reconciler",
        is_answered=False,
        now=now,
    )
    return True

"""Handing out runs under leases and taking their answers: the site's half of the worker protocol.

The lease id fences: whoever speaks with an old one gets `LeaseLost` and changes nothing.
"""

import uuid
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from competitions.compute.bell import ring
from competitions.compute.models import ComputeWorker
from competitions.submissions.models import Attempt, Run, RunOutput
from competitions.submissions.moves import run_move
from competitions.submissions.receipts import receipt_of_inputs
from competitions.submissions.refusals import LeaseLost
from competitions.submissions.results import Result
from competitions.submissions.states import HELD, Reason, State

log = structlog.get_logger(__name__)
BACKOFF_S: Final = (0, 60, 300)  # before the 2nd, 3rd, ... attempt
WORKER_BREAKER: Final = 3  # infrastructure failures in a row, of different runs
NOT_THE_WORKERS: Final = ("image_missing",)  # ours to mend, but on no particular host


def waiting_runs(worker: ComputeWorker, *, free_gpus: int, now: datetime) -> QuerySet[Run]:
    """Runs this worker could take, next first: phase priority, then the team with the fewest runs in flight, then age."""
    in_flight = (
        Run.objects.filter(team=OuterRef("team"), state__in=HELD)
        .order_by()
        .values("team")
        .annotate(n=Count("*"))
        .values("n")
    )
    return (
        Run.objects.filter(queue=worker.queue, state=State.QUEUED, not_before__lte=now, gpus__lte=free_gpus)
        .annotate(team_in_flight=Coalesce(Subquery(in_flight), 0))
        .order_by("-priority", "team_in_flight", "queued_at", "pk")
    )


@transaction.atomic
def run_claim(*, worker: ComputeWorker, free_gpus: int, now: datetime) -> Run | None:
    """Lease the next run of the worker's queue to it, or None when there is nothing for it."""
    if worker.queue.is_paused:
        return None
    candidates = waiting_runs(worker, free_gpus=free_gpus, now=now)
    if connection.features.has_select_for_update_skip_locked:
        candidates = candidates.select_for_update(skip_locked=True, of=("self",))
    run = candidates.first()
    if run is None:
        return None
    won = run_move(
        run_id=run.pk, attempt=run.attempt, source=State.QUEUED, target=State.LEASED, actor=f"worker:{worker.name}", now=now,
        lease_id=uuid.uuid4(), lease_expires_at=lease_end(now), worker=worker, started_at=None, meters={},
    )  # fmt: skip
    if not won:
        return None
    leased = _job_run(run.pk)
    leased.receipt = receipt_of_inputs(leased)
    leased.save(update_fields=["receipt"])
    return leased


def _job_run(run_id: uuid.UUID) -> Run:
    """The run with everything that its job needs, in one query."""
    return Run.objects.select_related(
        "submission__file", "submission__phase__competition", "task__scoring_program__file", "task__reference_data__file",
        "task__ingestion_program__file", "task__input_data__file", "worker", "queue",
    ).get(pk=run_id)  # fmt: skip


def lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.LEASE_S)


def held_run(*, run_id: str, attempt: int, lease_id: str) -> Run:
    """The run, locked, if this lease still holds it; else `LeaseLost`. Call inside a transaction."""
    run = (
        Run.objects.select_for_update(of=("self",))
        .select_related("submission__phase", "worker", "queue")
        .filter(pk=run_id, attempt=attempt, lease_id=lease_id, state__in=HELD)
        .first()
    )
    if run is None:
        raise LeaseLost
    return run


@transaction.atomic
def run_heartbeat(
    *, run_id: str, attempt: int, lease_id: str, state: State, meters: dict[str, Any], now: datetime
) -> Run:
    """Renew the lease, take the reported state and meters; returns the run, whose cancel flag the worker must obey."""
    run = held_run(run_id=run_id, attempt=attempt, lease_id=lease_id)
    changes: dict[str, Any] = {"lease_expires_at": lease_end(now), "meters": meters}
    if state != run.state and HELD.index(state) > HELD.index(State(run.state)):
        if state in (State.INGESTING, State.SCORING):
            changes["started_at"] = now
        run_move(
            run_id=run.pk, attempt=run.attempt, source=State(run.state), target=state,
            actor=_actor(run), now=now, **changes,
        )  # fmt: skip
    else:  # a late or repeated report moves nothing back
        Run.objects.filter(pk=run.pk, lease_id=run.lease_id).update(**changes)
    run.refresh_from_db(fields=["state", "lease_expires_at", "cancel_requested_at"])
    return run


def _actor(run: Run) -> str:
    return f"worker:{run.worker.name if run.worker else 'unknown'}"


@transaction.atomic
def run_release(*, run_id: str, attempt: int, lease_id: str, note: str, now: datetime) -> State:
    """Take back a run whose containers never started: it keeps its place and its attempt number, unless it was cancelled."""
    run = held_run(run_id=run_id, attempt=attempt, lease_id=lease_id)
    target = State.CANCELLED if run.cancel_requested_at is not None else State.QUEUED
    run_move(
        run_id=run.pk, attempt=run.attempt, source=State(run.state), target=target, actor=_actor(run), now=now,
        note=note or "released by the worker", worker=None,
    )  # fmt: skip
    transaction.on_commit(partial(ring, run.queue.bell))
    return target


@transaction.atomic
def run_complete(*, run_id: str, attempt: int, lease_id: str, result: Result, now: datetime) -> State:
    """Take an attempt's answer; sent again, the same reply. Raises `LeaseLost` for an attempt that is over.

    Infrastructure failures put the run back for another worker, until `MAX_ATTEMPTS`; all else ends it.
    """
    Run.objects.select_for_update().filter(pk=run_id).first()  # an answer that is sent twice at once takes turns
    answered = Attempt.objects.filter(run_id=run_id, lease_id=lease_id, is_answered=True).first()
    if answered is not None:
        return State(answered.outcome)
    run = held_run(run_id=run_id, attempt=attempt, lease_id=lease_id)
    return (
        _infrastructure_failed(run, result, now) if result.reason == Reason.INFRASTRUCTURE else _ended(run, result, now)
    )


def _record_attempt(
    run: Run, *, outcome: State, reason: str, detail: str, now: datetime, is_answered: bool = True
) -> None:
    assert run.lease_id is not None, "a held run has a lease, by constraint"
    Attempt.objects.create(
        run=run, attempt=run.attempt, lease_id=run.lease_id, worker=run.worker, ended_at=now, outcome=outcome, is_answered=is_answered,
        reason=reason, detail=detail,
    )  # fmt: skip


def _ended(run: Run, result: Result, now: datetime) -> State:
    """The run's end by the participant's, the organizer's or nobody's fault."""
    ComputeWorker.objects.filter(runs=run, infrastructure_failures__gt=0).update(infrastructure_failures=0)
    _record_attempt(run, outcome=result.target, reason=result.reason, detail=result.detail, now=now)
    receipt = run.receipt | result.receipt | {"outputs": _output_digests(run)}
    run_move(
        run_id=run.pk, attempt=run.attempt, source=State(run.state), target=result.target, actor=_actor(run), now=now,
        note=result.detail, reason=result.reason, code=result.code, detail=result.detail, scores=result.scores,
        receipt=receipt, meters=result.meters or run.meters,
        started_at=run.started_at or (now if result.stages else None),
    )  # fmt: skip
    return result.target


def _output_digests(run: Run) -> dict[str, str]:
    return dict(RunOutput.objects.filter(run=run, attempt=run.attempt).values_list("name", "file_id"))


def _infrastructure_failed(run: Run, result: Result, now: datetime) -> State:
    """Our fault: count it against the worker, and try again elsewhere."""
    if run.worker is not None and result.code not in NOT_THE_WORKERS and not _failed_here_before(run):
        run.worker.infrastructure_failures += 1
        if run.worker.infrastructure_failures >= WORKER_BREAKER and run.worker.quarantined_at is None:
            run.worker.quarantined_at = now
            log.error("worker_quarantined", worker=run.worker.name, run=str(run.pk))
        run.worker.save(update_fields=["infrastructure_failures", "quarantined_at"])
    return attempt_lost(run, code=result.code, detail=result.detail, actor=_actor(run), now=now, is_answered=True)


def _failed_here_before(run: Run) -> bool:
    """One bad run, tried again on the only worker, must not quarantine it for everybody."""
    return Attempt.objects.filter(run=run, worker=run.worker, reason=Reason.INFRASTRUCTURE, is_answered=True).exists()


def attempt_lost(run: Run, *, code: str, detail: str, actor: str, now: datetime, is_answered: bool) -> State:
    """End a held attempt by our fault: back to the queue, or failed as `infrastructure` when it was the last."""
    is_last = run.faults + 1 >= settings.MAX_ATTEMPTS
    outcome = State.FAILED if is_last else State.QUEUED
    if run.cancel_requested_at is not None:
        outcome = State.CANCELLED
    _record_attempt(run, outcome=outcome, reason=Reason.INFRASTRUCTURE, detail=detail, now=now, is_answered=is_answered)
    changes: dict[str, Any] = {"faults": run.faults + 1, "code": code, "detail": detail}
    if outcome == State.FAILED:
        changes["reason"] = Reason.INFRASTRUCTURE
    if outcome == State.QUEUED:
        wait = BACKOFF_S[min(run.faults, len(BACKOFF_S) - 1)]
        changes = {
            "faults": run.faults + 1,
            "worker": None,
            "not_before": now + timedelta(seconds=wait),
            "started_at": None,
            "next_attempt": True,
        }
    run_move(
        run_id=run.pk,
        attempt=run.attempt,
        source=State(run.state),
        target=outcome,
        actor=actor,
        now=now,
        note=detail,
        **changes,
    )
    if outcome == State.QUEUED:
        transaction.on_commit(partial(ring, run.queue.bell))
    return outcome

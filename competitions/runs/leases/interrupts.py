"""Runs whose worker's job in a cluster ended before them: they go on elsewhere, by nobody's fault."""

from datetime import datetime
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import QuerySet

from competitions.compute.models import ClusterJob
from competitions.runs.leases.reports import held_run, worker_actor
from competitions.runs.leases.retries import end_faulty_attempt, log_fields
from competitions.runs.models import Attempt, Run
from competitions.runs.queue.ranking import give_turn_back
from competitions.runs.transitions import event_explain, record_attempt, run_move
from competitions.submissions.states import HELD, Reason, State
from core.rows import get_or_none

log = structlog.get_logger(__name__)
MAX_INTERRUPTIONS: Final = 20  # attempts of a run; after these each counts as a fault, so that none goes on for ever
NOBODYS_FAULT: Final = (  # the cluster's decision, which no program can bring about
    ClusterJob.End.TIMEOUT,
    ClusterJob.End.PREEMPTED,
    ClusterJob.End.CANCELLED,
)
INTERRUPTED: Final = "interrupted"


@transaction.atomic
def run_interrupt(*, run_id: str, attempt: int, lease_id: str, detail: str, now: datetime) -> State:
    """Take back a run that its worker has stopped because its job ends: a new attempt, nobody's fault."""
    run = held_run(run_id=run_id, attempt=attempt, lease_id=lease_id)
    return _interrupt(run, detail=detail, actor=worker_actor(run), is_answered=True, now=now)


def _interrupt(run: Run, *, detail: str, actor: str, is_answered: bool, now: datetime) -> State:
    """Queue a held run as its next attempt, at the place that it had; cancelled ones end."""
    log.warning("run_interrupted", detail=detail, **log_fields(run))
    if run.attempt >= MAX_INTERRUPTIONS:
        return end_faulty_attempt(run, code=INTERRUPTED, detail=detail, actor=actor, now=now, is_answered=is_answered)
    target = State.CANCELLED if run.cancel_requested_at is not None else State.QUEUED
    changes: dict[str, Any] = {} if target == State.CANCELLED else {"next_attempt": True, "started_at": None}
    record_attempt(run, outcome=target, reason="", detail=detail, now=now, is_answered=is_answered)
    run_move(run, target=target, actor=actor, now=now, note=detail, worker=None, **changes)
    give_turn_back(run)
    return target


def runs_follow_job(*, job: ClusterJob, now: datetime, **_: object) -> None:
    """Take back what the worker of an ended job still holds, and say in the history how the job ended.

    Where the job did not end by the cluster's decision, the worker is lost, as one whose lease ran out. A job whose kind left the
    launcher's file may go on in the cluster: its worker's leases say whether it does.
    """
    if job.end_reason == ClusterJob.End.KIND_REMOVED:
        return
    words = f"The cluster's job {job.job} ended: {job.get_end_reason_display()}."
    of_job = {"worker__queue": job.queue_id, "worker__job": job.job}
    held = Run.objects.filter(state__in=HELD, **of_job)
    for run_id in list(held.order_by("pk").values_list("pk", flat=True)):
        _end_with_job(held.filter(pk=run_id), job, words, now)
    ended = Attempt.objects.filter(outcome=State.QUEUED, **of_job).filter(reason__in=("", Reason.INFRASTRUCTURE))
    for attempt in ended.exclude(detail="ingested"):
        event_explain(attempt, words)


@transaction.atomic
def _end_with_job(held: QuerySet[Run], job: ClusterJob, words: str, now: datetime) -> None:
    """Take one run back, unless its worker was faster.

    Each in a transaction of its own: whoever has moved a run holds its submission and its team's turns, and must not wait for another.
    """
    run = get_or_none(held.select_for_update(of=("self",)).select_related("worker", "queue"))
    if run is None:
        return
    if job.end_reason in NOBODYS_FAULT:
        _interrupt(run, detail=words, actor="launcher", is_answered=False, now=now)
    else:
        end_faulty_attempt(run, code="job_ended", detail=words, actor="launcher", is_answered=False, now=now)

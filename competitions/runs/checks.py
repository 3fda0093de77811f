"""The check of a submitted file: one claim at a time, in a child process with bounds.

It may run twice or late: its result is stored only while the check still asks for it and the claim is ours.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from competitions.catalog.models import Phase
from competitions.resources.storage import local_copy, store_bytes
from competitions.runs.models import Run
from competitions.runs.planning import CHECK_JOB, planned_fields, waits_for_organizers
from competitions.runs.transitions import run_fail, run_move
from competitions.submissions.file_checks.preflight import Contract, Recognised, file_contract, inspect, table_check
from competitions.submissions.models import FileCheck, Program, Submission
from competitions.submissions.states import Kind, Reason, State
from core.background import jobs
from core.background.allowance import require_allowance
from core.background.bounded import Bounds, Call, OverBounds, Stopped, run_bounded
from core.background.rows import Claim, claims
from core.refusals import InvalidFile, Refusal

log = structlog.get_logger(__name__)
ACTOR = "check"
ORGANIZERS_FAULTS = ("bad_reference", "bad_schema")  # the sample submission or the description of the table


@dataclass(frozen=True)
class Verdict:
    """The verdict on a file: what it is, or why it is not used."""

    outcome: FileCheck.Status
    recognised: Recognised | None = None
    reason: str = ""
    code: str = ""
    detail: str = ""


def waiting_checks() -> Any:
    """Checks that somebody must do, or is doing."""
    return FileCheck.objects.filter(outcome=FileCheck.Status.WAITING)


def refused_checks() -> QuerySet[FileCheck]:
    """Checks of files that were read for nothing, including those cancelled after they had begun."""
    return FileCheck.objects.filter(outcome__in=(FileCheck.Status.REFUSED, FileCheck.Status.CANCELLED))


@claims(waiting_checks, "submission__phase__competition", "submission__team", "submission__file")
def check_perform(check: FileCheck, claimed: Claim) -> None:
    """Check one file, then pass or refuse its submission; do nothing if that is no longer needed."""
    try:
        verdict = _given_up(check) or _refused_unread(check) or _verdict(check, claimed)
    except Stopped:
        log.info("check_stopped", submission=check.submission_id)
        return
    if _decide(check, claimed, verdict, now=timezone.now()):
        log.info("file_checked", submission=check.submission_id, outcome=verdict.outcome, code=verdict.code)


CHECK = jobs.Job(
    CHECK_JOB, waiting=waiting_checks, perform=check_perform, asked_at="requested_at", refused=refused_checks
)


def _given_up(check: FileCheck) -> Verdict | None:
    """Processes died over it, again and again: that is ours to look into, and no reason to go on."""
    if check.attempts <= settings.BACKGROUND_ATTEMPTS:
        return None
    return Verdict(
        FileCheck.Status.GIVEN_UP,
        reason=Reason.INFRASTRUCTURE,
        code="check_lost",
        detail=f"The file could not be checked: {settings.BACKGROUND_ATTEMPTS} attempts broke off because of an error on our side.",
    )


def _refused_unread(check: FileCheck) -> Verdict | None:
    """The files that were sent in before the team's other files were refused."""
    try:
        require_allowance(asker=check.asker, now=check.requested_at)
    except Refusal as refusal:
        return _refusal(refusal)
    return None


def _refusal(refusal: Refusal) -> Verdict:
    return Verdict(
        FileCheck.Status.REFUSED, reason=Reason.FILE_INVALID, code=refusal.code, detail=refusal.detail[:1000]
    )


def _verdict(check: FileCheck, claimed: Claim) -> Verdict:
    submission = check.submission
    contract = file_contract(phase=submission.phase, kind=Kind(submission.kind), file_name=submission.file_name)
    bounds = Bounds(wall_s=settings.CHECK_WALL_S, cpu_s=settings.CHECK_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES)
    bounded = partial(run_bounded, bounds=bounds, is_wanted=claimed.renew, every_s=claimed.renew_every_s)
    try:
        with local_copy(submission.file) as path:
            if contract.table is not None:
                return _verdict_on_table(contract, path, submission.phase, bounded)
            inspection = bounded(partial(_inspected, contract, path))
    except OverBounds as error:
        return _refusal(_too_costly(submission, error))
    if "refused" in inspection:
        return _refusal(InvalidFile(*inspection["refused"]))
    recognised = Recognised(Kind(inspection["kind"]), Program(inspection["program"]), inspection["requirements"])
    return Verdict(FileCheck.Status.PASSED, recognised=recognised)


def _verdict_on_table(contract: Contract, path: Path, phase: Phase, bounded: Callable[[Call], Any]) -> Verdict:
    """A table has the columns that the phase names and the ids of its sample submission."""
    with ExitStack() as stack:
        shown = phase.sample_submission
        sample = None if shown is None else (stack.enter_context(local_copy(shown.file)), shown.file_name)
        fault = bounded(table_check(contract, path, sample))
    if not fault:
        return Verdict(FileCheck.Status.PASSED, recognised=Recognised(contract.kind, Program.NONE))
    if fault["code"] in ORGANIZERS_FAULTS:
        return Verdict(
            FileCheck.Status.REFUSED, reason=Reason.SETUP_ERROR, code=fault["code"], detail=fault["message"][:1000]
        )
    return _refusal(InvalidFile(fault["code"], fault["message"]))


def _inspected(contract: Contract, path: Any) -> dict[str, object]:
    """In the child: what the file is, or why it is refused, in words that JSON can hold."""
    try:
        recognised = inspect(contract, path)
    except InvalidFile as refusal:
        return {"refused": [refusal.code, refusal.detail]}
    return {"kind": recognised.kind, "program": recognised.program, "requirements": recognised.requirements}


def _too_costly(submission: Submission, error: OverBounds) -> InvalidFile:
    return InvalidFile(
        "check_too_costly",
        f"The submission {submission.file_name!r} took more {error.what} to read than a check may use. "
        "Make it smaller, or pack it with ordinary compression (deflate).",
    )


@transaction.atomic
def _decide(check: FileCheck, claimed: Claim, verdict: Verdict, *, now: datetime) -> bool:
    """Write the verdict down and move the runs, for the one process whose claim is still good."""
    recognised = verdict.recognised
    lock = store_bytes(recognised.requirements.encode()) if recognised is not None and recognised.requirements else None
    held = Run.objects.select_for_update(of=("self",)).select_related("queue", "task")
    runs = list(held.filter(submission=check.submission_id, state=State.CHECKING).order_by("pk"))
    if not claimed.release(outcome=verdict.outcome, finished_at=now):
        return False
    if recognised is not None:
        check.submission.requirements = lock
        _queue(check.submission, runs, recognised, now)
    else:
        for run in runs:
            run_fail(run, actor=ACTOR, now=now, reason=verdict.reason, code=verdict.code, detail=verdict.detail)
    return True


def _queue(submission: Submission, runs: list[Run], recognised: Recognised, now: datetime) -> None:
    """Let the runs wait for a compute worker, or for the organizers.

    A winner's code is code, whatever else it may look like. What organizers run again was started by that.
    """
    kind = submission.kind if submission.is_verification else recognised.kind
    Submission.objects.filter(pk=submission.pk).update(
        kind=kind, program=recognised.program, checked_at=now, requirements=submission.requirements
    )
    submission.kind, submission.program = kind, recognised.program
    is_held_back = waits_for_organizers(submission)
    for run in runs:
        is_first = run.attempt == 1 and not run.is_smoke
        run_move(
            run,
            target=State.UNSTARTED if is_held_back and is_first else State.QUEUED,
            actor=ACTOR,
            now=now,
            queued_at=now,
            not_before=now,
            **planned_fields(submission, run.task),
        )

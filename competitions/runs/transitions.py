"""The only code that changes a run's state, and the submission's status that follows from its runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce

from competitions.runs.models import EARLIER_RUN, Attempt, Run, RunEvent, RunOutput, SlotUse
from competitions.runs.planning import plan_for, stored_plan
from competitions.runs.queue.ranking import enter_queue
from competitions.submissions.models import Submission
from competitions.submissions.quota import smoke_allowance
from competitions.submissions.signals import submission_settled
from competitions.submissions.states import FINAL, HELD, LIVE, REASONS, Reason, State
from workers.protocol.stages import StageName

_BEFORE_START: Final = (State.LEASED, State.PREPARING)  # of a held run: none of its containers has started
_ENDS: Final = (State.QUEUED, State.FINISHED, State.FAILED, State.CANCELLED)  # QUEUED: another attempt
NEXT: Final[dict[State, tuple[State, ...]]] = {  # a state without a row is final
    # Until its file is known to be right.
    State.CHECKING: (State.UNSTARTED, State.QUEUED, State.CANCELLED, State.FAILED),
    State.UNSTARTED: (State.QUEUED, State.CANCELLED),  # where organizers start submissions by hand
    State.QUEUED: (State.LEASED, State.CANCELLED, State.FAILED),
    State.LEASED: (State.PREPARING, State.INGESTING, State.SCORING, *_ENDS),
    State.PREPARING: (State.INGESTING, State.SCORING, *_ENDS),
    State.INGESTING: (State.SCORING, *_ENDS),
    State.SCORING: _ENDS,
}


class IllegalMove(Exception):
    """A move that is not in the table: a fault of the program, never of a client."""

    def __init__(self, source: State, target: State) -> None:
        super().__init__(f"A run does not go from {source} to {target}.")


def run_move(
    run: Run, *, target: State, actor: str, now: datetime, note: str = "", next_attempt: bool = False, **changes: Any
) -> bool:
    """Compare-and-swap: True for the one caller who moved the run on from the state in which it was read.

    `next_attempt` raises the attempt number with the move; `changes` are further fields of the run.
    """
    source = State(run.state)
    if target not in NEXT.get(source, ()):
        raise IllegalMove(source, target)
    if next_attempt:
        changes["attempt"] = run.attempt + 1
    if target not in HELD:
        changes |= {"lease_id": None, "lease_expires_at": None}
    if target in FINAL:
        changes.setdefault("finished_at", now)
    with transaction.atomic(savepoint=False):  # most callers have begun one
        moved = Run.objects.filter(pk=run.pk, attempt=run.attempt, state=source).update(state=target, **changes)
        if not moved:
            return False
        RunEvent.objects.create(
            run=run, attempt=run.attempt, source=source, target=target, actor=actor, note=note[:1000], at=now
        )
        if source in _BEFORE_START and changes.get("started_at") is not None:
            _begin_use(run, now=now)
        if source in HELD and target not in HELD:
            SlotUse.objects.filter(run=run.pk, ended_at=None).update(ended_at=now)
        _update_submission(run, now, is_ended=target in FINAL)
        if target == State.QUEUED:
            enter_queue(Run.objects.filter(pk=run.pk), now=now)
        return True


def run_fail(run: Run, *, actor: str, now: datetime, reason: str, code: str, detail: str) -> bool:
    """Move a run to its end as failed, for this reason."""
    detail = detail[:1000]  # it may name what others wrote: a sentence too long must not stop the queue
    return run_move(
        run, target=State.FAILED, actor=actor, now=now, note=detail, reason=reason, code=code, detail=detail
    )


@transaction.atomic
def cancel_held(runs: QuerySet[Run], *, now: datetime) -> int:
    """Ask the workers to stop those that they hold, locked by primary key; returns how many."""
    held = Run.objects.filter(pk__in=runs.values("pk"), state__in=HELD).order_by("pk")
    return Run.objects.filter(pk__in=held.select_for_update().values("pk")).update(cancel_requested_at=now)


def record_attempt(
    run: Run, *, outcome: State, reason: str, detail: str, now: datetime, is_answered: bool = True
) -> None:
    """Write down how an attempt ended. The run must be held."""
    assert run.lease_id is not None, "a held run has a lease, by constraint"
    Attempt.objects.create(
        run=run,
        attempt=run.attempt,
        lease_id=run.lease_id,
        worker=run.worker,
        ended_at=now,
        outcome=outcome,
        is_answered=is_answered,
        has_run=run.started_at is not None,
        reason=reason,
        detail=detail,
    )


def event_explain(attempt: Attempt, words: str) -> None:
    """Add to the line of history about an attempt's end what became known of it later. Safe to call twice."""
    if words in attempt.detail:
        return
    attempt.detail = f"{attempt.detail} {words}"[:1000]
    attempt.save(update_fields=["detail"])
    last = RunEvent.objects.filter(run=attempt.run_id, attempt=attempt.attempt, source__in=HELD).order_by("-pk")
    for event in last.filter(target__in=_ENDS)[:1]:
        event.note = f"{event.note} {words}".strip()[:1000]
        event.save(update_fields=["note"])


@transaction.atomic
def run_reopen(*, run: Run, actor: str, now: datetime, note: str = "") -> bool:
    """Put an ended run back into its queue as a new attempt: the one way out of a final state.

    If its file never passed the check, it is checked first.
    """
    target = State.QUEUED if run.fills_board or run.submission.checked_at else State.CHECKING
    ended = Run.objects.filter(pk=run.pk, attempt=run.attempt, state__in=FINAL)
    plan = plan_for(run.submission, run.task)
    brought = EARLIER_RUN if run.ingested_attempt == EARLIER_RUN else None
    needs = plan.needs if brought is None else plan.after_ingestion().needs
    moved = ended.update(
        plan=stored_plan(plan), needs=needs, ingested_attempt=brought,
        state=target, attempt=run.attempt + 1, faults=0, queued_at=now, not_before=now, reason="", code="", detail="",
        finished_at=None, started_at=None, cancel_requested_at=None, scores={}, meters={}, receipt={}, worker=None,
    )  # fmt: skip
    if moved:
        RunEvent.objects.create(
            run=run, attempt=run.attempt, source=run.state, target=target, actor=actor, note=note[:1000], at=now
        )
        _update_submission(run, now, is_ended=True)
        enter_queue(Run.objects.filter(pk=run.pk), now=now)  # turns are locked behind the submission, everywhere
    return bool(moved)


OF_INGESTION: Final = ("timings", "host", "worker_version")  # of a receipt
TAKEN: Final = ("state", "reason", "code", "detail", "scores", "worker", "started_at", "finished_at")
OUTPUTS_OF_INGESTION: Final = ("predictions.zip", "ingestion.log")


@transaction.atomic
def run_take(*, run: Run, source: Run, actor: str, now: datetime, note: str) -> None:
    """Give an ended run the result of another ended one as its next attempt: scores, receipt and outputs.

    What its own program used stays, where the other began with the predictions that it left. The run must be locked.
    """
    assert run.is_final, "one that runs has a result of its own to come"
    has_predictions = source.ingested_attempt is not None
    receipt = source.receipt | {"rescored_by": str(source.pk)}
    if has_predictions:
        receipt |= {"ingestion": run.receipt.get("ingestion") or _ingestion_part(run.receipt)}
    predicted = run.attempt if run.ingested_attempt is None else run.ingested_attempt
    changes: dict[str, object] = {name: getattr(source, name) for name in TAKEN} | {
        "receipt": receipt,
        "meters": run.meters if has_predictions else source.meters,
        "ingested_attempt": predicted if has_predictions else None,
        "attempt": run.attempt + 1,
    }
    Run.objects.filter(pk=run.pk, attempt=run.attempt, state__in=FINAL).update(**changes)
    RunEvent.objects.create(
        run=run, attempt=run.attempt + 1, source=run.state, target=source.state, actor=actor, note=note[:1000], at=now
    )
    outputs = RunOutput.objects.filter(run=source, attempt=source.attempt).values_list("name", "file")
    RunOutput.objects.bulk_create(
        RunOutput(run=run, attempt=run.attempt + 1, name=name, file_id=file) for name, file in outputs
    )
    _update_submission(run, now, is_ended=True)


def _ingestion_part(receipt: dict[str, Any]) -> dict[str, Any]:
    """The part of a receipt that is about the program, where one worker ran it and scored what it left."""
    of_program = {name: receipt[name] for name in OF_INGESTION if name in receipt}
    stages = [stage for stage in receipt.get("stages", []) if stage.get("name") != StageName.SCORING]
    outputs = {name: digest for name, digest in receipt.get("outputs", {}).items() if name in OUTPUTS_OF_INGESTION}
    return of_program | {"stages": stages, "outputs": outputs}


def submission_status(ends: Sequence[tuple[State, str]]) -> tuple[State, str]:
    """Status and reason of a submission, of those of its runs: the least advanced says how far it is."""
    states = [state for state, _ in ends]
    for state in (State.FAILED, State.CANCELLED):  # one failed task decides, once nothing runs any more
        if state in states and all(other in FINAL for other in states):
            return state, next(reason for other, reason in ends if other == state)
    order = [*LIVE, State.FINISHED]
    live = [state for state in states if state in order]
    return min(live, key=order.index), ""


def _update_submission(run: Run, now: datetime, *, is_ended: bool) -> None:
    """Derive the submission's status from its runs, under its row lock so that runs take turns.

    A run that fills a board has no part in it; the board is updated when such a run ends or is reopened (`is_ended`).
    """
    submission_id = run.submission_id
    locked = Submission.objects.select_for_update(no_key=True).filter(pk=submission_id)
    was, reason_was, is_smoke = locked.values_list("status", "reason", "is_smoke").get()
    columns = ("pk", "state", "reason", "fills_board", "is_smoke")
    runs = list(Run.objects.filter(submission=submission_id).values_list(*columns, named=True))
    if any(other.fills_board and other.pk == run.pk for other in runs):
        if is_ended:
            _send_settled(_for_boards(submission_id), now)
        return
    status, reason = submission_status([(State(other.state), other.reason) for other in runs if not other.fills_board])
    if status == State.FINISHED and not is_smoke and all(other.is_smoke for other in runs):
        status = State.CANCELLED  # asked for while its smoke run ended: it goes no further, and has no score
    if (status, reason) == (was, reason_was):
        return
    changes: dict[str, object] = {"status": status, "reason": reason, "finished_at": now if status in FINAL else None}
    if not {status, State(was)} & set(FINAL):
        Submission.objects.filter(pk=submission_id).update(**changes)
        return
    submission = _for_boards(submission_id)
    for name, value in changes.items():
        setattr(submission, name, value)
    if status in FINAL:
        submission.is_charged = _is_charged(submission)
    submission.save(update_fields=[*changes, "is_charged"])
    _send_settled(submission, now)


def _for_boards(submission_id: int) -> Submission:
    """The submission with what the receivers of `submission_settled` ask of it."""
    return Submission.objects.select_related("phase__competition", "team").get(pk=submission_id)


def _send_settled(submission: Submission, now: datetime) -> None:
    prefetch_related_objects([submission], "runs")  # boards read them next
    reason = "" if submission.is_verification else f"Submission #{submission.pk} was run again."
    submission_settled.send(sender=Submission, submission=submission, reason=reason, now=now)


def _is_charged(submission: Submission) -> bool:
    """True if quota is charged: not for faults of ours or the organizer's, nor cancelled before it ran.

    Submissions that no team sent in cost nothing either.
    """
    if submission.rerun_of_id is not None or submission.migrated_from_id is not None or submission.is_verification:
        return False
    if submission.solution_id is not None:
        return False
    # A smoke run is free, and so is what it stopped, as long as the team has free ones left.
    counted = submission.runs.filter(fills_board=False, is_smoke=False)
    if submission.status == State.FAILED:
        return REASONS[Reason(submission.reason)].charged and (counted.exists() or _has_used_smoke_runs(submission))
    if submission.status == State.CANCELLED:
        # What waits for a worker that scores has seen the hidden input, although its next attempt has not begun.
        has_begun = Q(started_at__isnull=False) | Q(ingested_attempt__isnull=False)
        smoke_runs = submission.runs.filter(has_begun, is_smoke=True)
        return counted.filter(has_begun).exists() or (smoke_runs.exists() and _has_used_smoke_runs(submission))
    return not submission.is_smoke


def _has_used_smoke_runs(submission: Submission) -> bool:
    """True for a submission that counts, of a team without free smoke runs left on the day it was made."""
    return not submission.is_smoke and not smoke_allowance(submission.team_id, now=submission.created_at).left


def _begin_use(run: Run, *, now: datetime) -> None:
    """Write down that a held run uses a slot from now on. Call in the transaction that says so."""
    held = Run.objects.select_related("worker", "submission__phase").get(pk=run.pk)
    earlier = SlotUse.objects.filter(run=held, ended_at__gt=held.queued_at).order_by("-ended_at")
    SlotUse.objects.create(
        run=held,
        queue_id=held.queue_id,
        competition_id=held.submission.phase.competition_id,
        phase_id=held.submission.phase_id,
        team_id=held.team_id,
        job=held.worker.job if held.worker else "",
        gpus=1 if held.gpus else 0,  # a run gets one, whatever its phase says
        waits_since=Coalesce(Subquery(earlier.values("ended_at")[:1]), held.queued_at),
        started_at=now,
    )

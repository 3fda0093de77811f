"""Reports of a worker about a run that it holds: heartbeats, giving it back, and the attempt's result.

A worker holds a run by a lease, whose id fences: whoever speaks with an old one gets `LeaseLost` and changes nothing. The
scores of a result are checked against the board. Results are kept as disclosure lets everybody who sees the run read them; the
scoring program's own words go into its log.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.db import transaction

from competitions.compute.models import ComputeWorker
from competitions.disclosure.outputs import AttemptReport, LogStream, disclosed_meters, disclosed_report
from competitions.runs.leases.retries import retry_elsewhere
from competitions.runs.models import Attempt, Run, RunLog, RunOutput, RunUsage
from competitions.runs.queue.ranking import give_turn_back
from competitions.runs.queue.smoke import queue_after_smoke_run
from competitions.runs.refusals import AttemptAnswered, LeaseLost
from competitions.runs.transitions import record_attempt, run_move
from competitions.submissions.states import HELD, Reason, State
from core.refusals import Refusal
from core.rows import get_or_none
from workers.protocol.calls import METERED, StageUsage
from workers.protocol.plan import Needs
from workers.protocol.results import Complete, Outcome, StageRecord
from workers.protocol.stages import StageName

NO_OUTPUTS: Final[Mapping[str, str]] = {}
LAST_PIECE: Final = 2**31 - 1  # behind all pieces of a log that a worker numbers
RUN_TOKEN_SALT: Final = "podium.runs.token"
MAX_SCORE: Final = sys.float_info.max
IN_RECEIPT: Final = {"stages", "timings", "host", "worker_version", "notes"}
TARGETS: Final = {
    Outcome.FINISHED: State.FINISHED,
    Outcome.INGESTED: State.QUEUED,
    Outcome.FAILED: State.FAILED,
    Outcome.CANCELLED: State.CANCELLED,
}


class InvalidResult(Refusal):
    code, http_status = "invalid_result", 422


@dataclass(frozen=True)
class Result:
    """A checked answer. `reason` is empty unless the run failed; `scores` is empty unless it finished.

    `target` is QUEUED when the run was ingested and waits for a worker that scores.
    """

    target: State
    reason: str = ""
    code: str = ""
    detail: str = ""
    refused_by: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    stages: tuple[StageRecord, ...] = ()
    meters: Mapping[str, object] = field(default_factory=dict)
    receipt: dict[str, object] = field(default_factory=dict)
    usage: tuple[StageUsage, ...] = ()


def read_result(answer: Complete, *, columns: list[str]) -> Result:
    """Return the answer as a result with scores by the board's column keys. Raises `InvalidResult`."""
    is_finished = answer.outcome == Outcome.FINISHED
    return Result(
        target=TARGETS[answer.outcome],
        reason=answer.reason or "" if answer.outcome == Outcome.FAILED else "",
        code=answer.code,
        detail=answer.detail,
        refused_by=answer.refused_by,
        scores=read_scores(answer.scores, columns=columns) if is_finished else {},
        stages=answer.stages,
        meters=_meters(answer.stages),
        receipt=answer.model_dump(mode="json", include=IN_RECEIPT, exclude_unset=True),
        usage=answer.usage,
    )


def read_scores(value: Any, *, columns: list[str]) -> dict[str, float]:
    """Finite numbers for the board's columns; unknown names are left out.

    Raises `InvalidResult` when no column has a score, or a score is not a finite number.
    """
    if not isinstance(value, dict):
        raise InvalidResult("'scores' must be a mapping from column key to number.")
    known = {key: number for key, number in value.items() if key in columns}
    if columns and not known:
        raise InvalidResult(
            f"'scores' has {sorted(value)[:20]}, none of which is a column of the board; it has {sorted(columns)}."
        )
    for key, number in known.items():
        if not _is_number(number) or not -MAX_SCORE <= number <= MAX_SCORE:  # False for NaN too
            raise InvalidResult(f"The score {key!r} is {str(number)[:40]}; it must be a finite number.")
    return {key: float(number) for key, number in known.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _meters(stages: tuple[StageRecord, ...]) -> dict[str, int | float]:
    """Meters to show: those of the ingestion container, which the budget is about.

    Without one, those of the submission's own stage, else of the last stage.
    """
    by_name = {stage.name: stage for stage in reversed(stages)}
    shown = by_name.get(StageName.INGESTION) or by_name.get(StageName.SUBMISSION) or next(reversed(stages), None)
    return shown.model_dump(include=set(METERED), exclude_none=True) if shown else {}


def lease_end(now: datetime) -> datetime:
    """The end of a lease that is given or renewed now."""
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
    return get_or_none(runs.filter(pk=run_id))


def is_held(run: Run, *, attempt: int, lease_id: str) -> bool:
    """True while this lease holds the run, as it was read."""
    return (run.attempt, str(run.lease_id)) == (attempt, lease_id) and run.state in HELD


@transaction.atomic
def run_heartbeat(
    *, run_id: str, attempt: int, lease_id: str, state: State, meters: Mapping[str, object], now: datetime
) -> Run:
    """Renew the lease and store the reported state and meters.

    Returns the run, whose cancel flag the worker must obey.
    """
    run = held_run(run_id=run_id, attempt=attempt, lease_id=lease_id)
    changes: dict[str, Any] = {"lease_expires_at": lease_end(now)}
    if run.ingested_attempt is None:  # the budget's meters are those of the ingestion stage
        changes["meters"] = _disclosed_progress(run, state, meters)
    run.lease_expires_at = changes["lease_expires_at"]
    if state != run.state and HELD.index(state) > HELD.index(State(run.state)):
        if state in (State.INGESTING, State.SCORING):
            changes["started_at"] = now
        run_move(run, target=state, actor=worker_actor(run), now=now, **changes)
        run.state = state
    else:  # a late or repeated report moves nothing back
        Run.objects.filter(pk=run.pk, lease_id=run.lease_id).update(**changes)
    return run


def worker_actor(run: Run) -> str:
    return f"worker:{run.worker.name if run.worker else 'unknown'}"


@transaction.atomic
def run_release(*, run_id: str, attempt: int, lease_id: str, note: str, now: datetime) -> State:
    """Take back a run whose containers never started.

    It keeps its place, turn and attempt number, unless it was cancelled.
    """
    run = held_run(run_id=run_id, attempt=attempt, lease_id=lease_id)
    target = State.CANCELLED if run.cancel_requested_at is not None else State.QUEUED
    run_move(run, target=target, actor=worker_actor(run), now=now, note=note or "released by the worker", worker=None)
    give_turn_back(run)
    return target


@transaction.atomic
def run_complete(
    *, run_id: str, attempt: int, lease_id: str, result: Result, now: datetime, outputs: Mapping[str, str] = NO_OUTPUTS
) -> State:
    """Store an attempt's answer; the same answer sent again gets the same reply.

    `outputs`: digests by name of what the worker says it has sent.

    Infrastructure failures put the run back for another worker, until `MAX_ATTEMPTS`; all else ends it. Raises `LeaseLost` for an
    attempt that is over, or `InvalidResult` while an output is missing.
    """
    run = locked_run(run_id)  # an answer that is sent twice at once takes turns
    if run is None or not is_held(run, attempt=attempt, lease_id=lease_id):
        return _answered_before(run_id, lease_id)
    arrived = dict(RunOutput.objects.filter(run=run, attempt=run.attempt).values_list("name", "file_id"))
    _require_outputs(arrived, outputs)
    keep_usage(run, result.usage)
    result = _disclosed(run, result)
    if result.reason == Reason.INFRASTRUCTURE:
        return retry_elsewhere(run, code=result.code, detail=result.detail, actor=worker_actor(run), now=now)
    ended = _end_ingestion if result.target == State.QUEUED else _end_run
    return ended(run, result, arrived, now)


def _answered_before(run_id: str, lease_id: str) -> State:
    """The outcome of an attempt whose answer has been taken. Raises `LeaseLost` where none has."""
    answered = Attempt.objects.filter(run_id=run_id, lease_id=lease_id, is_answered=True).first()
    if answered is None:
        raise LeaseLost
    return State(answered.outcome)


def _require_outputs(arrived: Mapping[str, str], announced: Mapping[str, str]) -> None:
    """Every output that the answer names has arrived with the digest that it names."""
    for name, digest in announced.items():
        if arrived.get(name) != digest:
            raise InvalidResult(
                f"The output {name[:60]!r} has not arrived with the digest {digest[:64]}. Send it first."
            )


def _end_run(run: Run, result: Result, outputs: dict[str, str], now: datetime) -> State:
    """The run's end by the participant's, the organizer's or nobody's fault.

    Raises `InvalidResult` for scores of a worker that never scores: then nothing changes.
    """
    if result.target == State.FINISHED and _only_ingests(run):
        raise InvalidResult(
            "'outcome' is 'finished', but this worker was started for ingestion alone: it is 'ingested'."
        )
    # What is refused before a container starts says nothing of the host.
    if result.stages or result.target == State.FINISHED:
        _clear_worker_faults(run)
    record_attempt(run, outcome=result.target, reason=result.reason, detail=result.detail, now=now)
    if run.is_smoke and result.target == State.FINISHED:
        queue_after_smoke_run(run, now)  # before its submission follows: with these it goes on
    receipt = run.receipt | result.receipt | {"outputs": outputs}
    run_move(
        run,
        target=result.target,
        actor=worker_actor(run),
        now=now,
        note=result.detail,
        reason=result.reason,
        code=result.code,
        detail=result.detail,
        scores=result.scores,
        receipt=receipt,
        meters=run.meters if run.ingested_attempt else result.meters or run.meters,
        started_at=run.started_at or (now if result.stages else None),
    )
    return result.target


def _only_ingests(run: Run) -> bool:
    return run.worker is not None and run.worker.role == ComputeWorker.Role.INGESTION


def _clear_worker_faults(run: Run) -> None:
    """Forget the worker's failures: they are no longer in a row."""
    if run.worker is not None and run.worker.infrastructure_failures:
        ComputeWorker.objects.filter(pk=run.worker.pk).update(infrastructure_failures=0, failed_teams=[])


def _end_ingestion(run: Run, result: Result, outputs: dict[str, str], now: datetime) -> State:
    """Ingestion is done, by a worker that does nothing else: the run waits for one that scores.

    Raises `InvalidResult` when this was not asked for, or the predictions have not arrived: then nothing changes.
    """
    is_wanted = _only_ingests(run) and run.ingested_attempt is None
    if not is_wanted or "predictions.zip" not in outputs:
        raise InvalidResult("'outcome' is 'ingested', but this run has no predictions or was to be scored, too.")
    _clear_worker_faults(run)
    record_attempt(run, outcome=State.QUEUED, reason="", detail="ingested", now=now)
    run_move(
        run,
        target=State.QUEUED,
        actor=worker_actor(run),
        now=now,
        note="ingested; scoring is next",
        ingested_attempt=run.attempt,
        needs=Needs.SCORING,
        meters=result.meters,
        worker=None,
        started_at=None,
        receipt=run.receipt | {"ingestion": result.receipt | {"outputs": outputs}},
        next_attempt=True,
    )
    return State.QUEUED


def _disclosed(run: Run, result: Result) -> Result:
    """The result as everybody who sees the run may read it."""
    report = AttemptReport(
        reason=result.reason,
        code=result.code,
        detail=result.detail,
        meters=result.meters,
        stages=frozenset(stage.name for stage in result.stages),
        is_smoke=run.is_smoke,
        refused_by=result.refused_by,
    )
    disclosed = disclosed_report(run.submission.phase, report)
    if disclosed.detail != report.detail:
        is_of_ingestion = report.is_refusal_of_ingestion
        _keep_in_log(run, RunLog.Stream.INGESTION if is_of_ingestion else RunLog.Stream.SCORING, report.detail)
    return replace(result, code=disclosed.code, detail=disclosed.detail, meters=dict(disclosed.meters))


def _keep_in_log(run: Run, stream: LogStream, words: str) -> None:
    RunLog.objects.get_or_create(
        run=run, attempt=run.attempt, stream=stream, seq=LAST_PIECE, defaults={"text": f"\n{words}\n"}
    )


def _disclosed_progress(run: Run, state: State, meters: Mapping[str, object]) -> Mapping[str, object]:
    """The meters to show of a run whose worker reports this state and these meters."""
    is_scoring = State.SCORING in (state, run.state) and not run.is_smoke
    return disclosed_meters(run.submission.phase, meters, before=run.meters, is_scoring=is_scoring)


def keep_usage(run: Run, lines: Iterable[StageUsage]) -> None:
    """Keep the lines of this attempt's stages. Safe to call twice."""
    rows = {
        line.name: RunUsage(
            run=run,
            attempt=run.attempt,
            stage=LogStream(line.name),
            line=line.model_dump(mode="json", exclude={"name"}),
        )
        for line in lines
    }
    RunUsage.objects.bulk_create(
        rows.values(), update_conflicts=True, unique_fields=["run", "attempt", "stage"], update_fields=["line"]
    )


def run_token(run: Run) -> str:
    """The token by which a worker speaks about this run; it is worth nothing once the lease is over."""
    return signing.dumps([str(run.pk), run.attempt, str(run.lease_id), run.submission_id], salt=RUN_TOKEN_SALT)


def read_run_token(token: str) -> tuple[str, int, str, int | None] | None:
    """(run id, attempt, lease id, submission) of a token, or None when it was not made here."""
    try:
        run_id, attempt, lease_id, *submission = signing.loads(token, salt=RUN_TOKEN_SALT)
    except signing.BadSignature:
        return None
    return run_id, attempt, lease_id, submission[0] if submission else None  # of the first release: without

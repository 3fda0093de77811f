"""Handing out runs under leases: whose turn it is, what may not be handed out, and the receipt of it."""

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import structlog
from django.db import connection, transaction
from django.db.models import QuerySet

from competitions.catalog.queue_rights import foreign_image_text, has_foreign_image, run_fault
from competitions.catalog.sealed_keys import ScoreColumn, score_columns, sealed_keys_record
from competitions.compute.models import ComputeWorker, Queue
from competitions.environments.choice import fault_of_mirror, faults_of_choice
from competitions.resources.models import Resource
from competitions.runs.leases.reports import lease_end
from competitions.runs.models import Run
from competitions.runs.planning import plan_anew
from competitions.runs.queue.demand import UNBOUNDED, Room, fitting_in
from competitions.runs.queue.matching import fitting_runs, may_take
from competitions.runs.queue.ranking import next_teams, take_turn
from competitions.runs.queue.smoke import TASK_HIDDEN
from competitions.runs.rescoring import attach_proposed, proposed_columns
from competitions.runs.transitions import run_fail, run_move
from competitions.runs.worker_api.jobs import OF_THE_TASK, column_keys
from competitions.submissions.states import Reason, State
from core.rows import get_or_none
from workers.protocol.images import ImageNameInvalid, parse_image
from workers.protocol.plan import Needs
from workers.protocol.smoke import NO_MIRROR

log = structlog.get_logger(__name__)
FOR_A_JOB: Final = ("submission__phase__competition", "submission__file", "task")
ACTOR: Final = "queue"
REMEMBERED_CLAIMS: Final = 32  # of a worker; more than it has lanes


def run_claim(
    *, worker: ComputeWorker, free_gpus: int, now: datetime, claim_id: str = "", room: Room = UNBOUNDED
) -> Run | None:
    """Lease the next run of the worker's queue that fits its room, or None when there is none.

    A claim that is sent twice, because its answer was lost or by the network, gets the same run again while nobody has
    heard of it since, and otherwise nothing: a lease that no worker knows of would only run out.

    A run that may not be handed out ends in a transaction of its own, as it locks its submission and its boards.
    """
    if worker.queue.separate_scoring and not worker.queue.is_paused:
        _end_inseparable(worker.queue, now)
    is_new = False
    while True:
        with transaction.atomic():
            if claim_id and not (is_new := _is_new_claim(worker, claim_id, is_begun=is_new)):
                return _leased_by(worker, claim_id)
            if worker.queue.is_paused or worker.drained_at is not None:
                return None
            run = _next_run(worker, free_gpus, room, now)
            if run is None:
                return None
            if (refusal := _refusal(run, worker.queue)) is None:
                return _lease(run, worker, claim_id, now)
            reason, code, detail = refusal
            run_fail(run, actor=ACTOR, now=now, reason=reason, code=code, detail=detail)


def _lease(run: Run, worker: ComputeWorker, claim_id: str, now: datetime) -> Run | None:
    """Give a run that is locked to the worker; None where it was moved meanwhile."""
    _attach_programs(run)
    columns = [*score_columns(run.submission.phase), *proposed_columns(run)]
    run.queue = worker.queue
    changes: dict[str, Any] = {
        "lease_id": uuid.uuid4(),
        "lease_expires_at": lease_end(now),
        "worker": worker,
        "claim_id": claim_id,
        "started_at": None,
        "meters": run.meters if run.ingested_attempt else {},
    }
    for name, value in changes.items():
        setattr(run, name, value)
    run.receipt = _receipt_of_inputs(run, columns) | {
        key: run.receipt[key] for key in ("ingestion",) if key in run.receipt
    }
    won = run_move(run, target=State.LEASED, actor=f"worker:{worker.name}", now=now, receipt=run.receipt, **changes)
    if not won:
        return None
    run.state = State.LEASED
    # Behind the submission, which the move has locked.
    sealed_keys_record(phase=run.submission.phase, columns=columns, now=now)
    take_turn(run, now=now)
    return run


def _is_new_claim(worker: ComputeWorker, claim_id: str, *, is_begun: bool) -> bool:
    """Write the claim down; False when it is there already. Claims of one worker take turns from here on.

    `is_begun`: it was written down by this call before; False then, too, once it was sent again and got nothing: nobody would hear of a
    run that this call leased.
    """
    # Its key is left to attempts that end meanwhile: they hold turns that this claim may wait for.
    locked = ComputeWorker.objects.select_for_update(no_key=True).filter(pk=worker.pk)
    recent: list[str] = locked.values_list("recent_claims", flat=True).get()
    times = recent.count(claim_id)
    if is_begun:
        return times == 1
    if times < 2:
        ComputeWorker.objects.filter(pk=worker.pk).update(recent_claims=[*recent, claim_id][-REMEMBERED_CLAIMS:])
    return not times


def _leased_by(worker: ComputeWorker, claim_id: str) -> Run | None:
    runs = Run.objects.filter(worker=worker, claim_id=claim_id, state=State.LEASED)
    run = runs.select_related(*FOR_A_JOB, "worker", "queue").first()
    if run is not None:
        attach_proposed(run)
        _attach_programs(run)
    return run


def _next_run(worker: ComputeWorker, free_gpus: int, room: Room, now: datetime) -> Run | None:
    """Lock and return the run whose turn it is."""
    if worker.queue.max_in_flight_per_team is not None:
        # Or two claims at once would both see the last place.
        Queue.objects.select_for_update(no_key=True).get(pk=worker.queue_id)
    fitting = fitting_in(fitting_runs(worker, free_gpus=free_gpus, now=now), room)
    for team, priority in next_teams(worker.queue, fitting):
        candidates = fitting.filter(team=team, priority=priority).order_by("queued_at", "pk")
        if connection.features.has_select_for_update_skip_locked:
            candidates = candidates.select_for_update(skip_locked=True, of=("self",))
        # Its columns are read once it is chosen: to sort by some of two hundred takes longer than a second query.
        while (pk := candidates.values_list("pk", flat=True).first()) is not None:
            run = Run.objects.select_related(*FOR_A_JOB).get(pk=pk)
            attach_proposed(run)
            plan_anew(run)  # one that has become another kind of worker's is not a candidate any more
            if may_take(worker, run):
                return run
    return None


def _refusal(run: Run, queue: Queue) -> tuple[Reason, str, str] | None:
    """Reason, code and words where the organizers' setup or the team's environment forbids a run."""
    phase, setup = run.submission.phase, Reason.SETUP_ERROR
    image = phase.image_name
    if run.is_smoke and (why := run.task.hidden_part(phase.competition)):
        return setup, TASK_HIDDEN, why
    if why := run_fault(run.task, phase, queue):
        return setup, "queue_not_allowed", why
    if not queue.allows_image(image):
        words = f"The image {image} is not allowed on the queue {queue.name}; allowed are: {queue.allowed_images_text}."
        return setup, "image_forbidden", words
    try:
        parse_image(image)
    except ImageNameInvalid as error:
        return setup, "image_invalid", str(error)
    if why := faults_of_choice(run.submission):
        return Reason.ENVIRONMENT_ERROR, "environment_gone", why
    if run.submission.requirements_id is not None and (why := fault_of_mirror(queue)):
        return setup, NO_MIRROR, why
    if has_foreign_image(run.task, phase):
        return setup, "image_of_task", foreign_image_text(run.task, phase)
    return None


def _end_inseparable(queue: Queue, now: datetime) -> None:
    """No worker of a queue that keeps scoring apart may ever run these: they must not wait for ever."""
    waiting = Run.objects.filter(needs=Needs.TOGETHER, queue=queue, state=State.QUEUED)
    for pk in list(waiting.order_by("pk").values_list("pk", flat=True)[:100]):
        _end_if_inseparable(waiting.filter(pk=pk), queue, now)


@transaction.atomic
def _end_if_inseparable(rows: QuerySet[Run], queue: Queue, now: datetime) -> None:
    """End one of them, unless its plan has become another or somebody was faster."""
    run = get_or_none(rows.select_for_update(of=("self",)).select_related("submission__phase", "task"))
    if run is None:
        return
    attach_proposed(run)
    plan_anew(run)
    if run.needs != Needs.TOGETHER:
        return
    detail = (
        f"Its ingestion program runs beside the scoring program, and the queue {queue.name} keeps scoring on workers of "
        "its own. Move the competition to another queue."
    )
    run_fail(run, actor=ACTOR, now=now, reason=Reason.SETUP_ERROR, code="inseparable", detail=detail)


def _attach_programs(run: Run) -> None:
    """Load the programs and data of the run's task.

    In a query of its own, because planning one over a dozen tables takes 20 ms.
    """
    task = run.task
    numbers = [pk for name in OF_THE_TASK if (pk := getattr(task, f"{name}_id"))]
    resources = Resource.objects.select_related("file").order_by().in_bulk(numbers)
    for name in OF_THE_TASK:
        setattr(task, name, resources.get(getattr(task, f"{name}_id")))


def _receipt_of_inputs(run: Run, columns: Iterable[ScoreColumn]) -> dict[str, object]:
    """Digests, image and limits of everything that the run is given, as of hand-out.

    `columns` are the phase's now: the scores must be for them, even if the board changes meanwhile.
    """
    task, phase = run.task, run.submission.phase
    programs = {
        "submission": run.submission.file,
        "ingestion_program": task.ingestion_program and task.ingestion_program.file,
        "input_data": task.input_data and task.input_data.file,
        "scoring_program": task.scoring_program.file,
        "reference_data": task.reference_data and task.reference_data.file,
        "weights": run.submission.weights and run.submission.weights.file,
        "image_archive": run.submission.image and run.submission.image.file,
        "requirements": run.submission.requirements,
    }
    return {
        "inputs": {name: f"sha256:{stored.sha256}" for name, stored in programs.items() if stored},
        "columns": column_keys(columns),
        "image": phase.image_name,
        **_environment(run),
        "seed": run.submission.seed,
        "attempt": run.attempt,
        "lease_id": str(run.lease_id),
        "budget": {
            "time_limit_s": phase.time_limit_s,
            "gpus": run.gpus,
            "cpus": phase.cpus,
            "memory_bytes": phase.memory_bytes,
            "output_bytes": phase.output_bytes,
            "scoring_time_limit_s": phase.scoring_time_limit_s,
        },
    }


def _environment(run: Run) -> dict[str, object]:
    """The team's weights, image and packages by name and digest; empty where it brought none."""
    submission, environment = run.submission, {}
    if submission.weights is not None:
        environment["weights"] = submission.weights.reference
    if submission.image is not None:
        environment |= {"image": submission.image.reference, "image_id": submission.image.image_id}
    if submission.image_reference:
        environment["image"] = submission.image_reference
    if submission.requirements is not None:
        environment["package_mirror"] = run.queue.package_mirror
    return {"environment": environment} if environment else {}

"""Scoring submissions again for a proposal, from the predictions that their runs left.

A copy of the submission has the runs. It belongs to no team, stands on no board and counts for nothing, so what it scores is known
to the organizers alone until the proposal is applied.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet

from competitions.catalog.models import Phase, Proposal, ProposedFile, Task
from competitions.catalog.sealed_keys import ScoreColumn
from competitions.resources.models import Resource
from competitions.runs.models import EARLIER_RUN, FILLING_PRIORITY, Rescoring, Run, RunOutput
from competitions.runs.planning import planned_fields
from competitions.runs.queue.ranking import enter_queue
from competitions.runs.reruns import organizers_team
from competitions.runs.transitions import run_take
from competitions.submissions.models import Submission
from competitions.submissions.states import NOT_RUN, Reason, State
from workers.protocol.plan import Needs, Plan

PREDICTIONS: Final = "predictions.zip"
# Earlier runs were queued before a proposal is applied; older ones are not read.
BEFORE_IT_ENDED: Final = timedelta(hours=1)
COPIED: Final = ("kind", "file", "file_name", "program", "checked_at", "seed")
ENVIRONMENT: Final = ("weights", "image", "image_reference", "requirements")  # needed where a program runs again


def scored_tasks(proposal: Proposal) -> QuerySet[Task]:
    """The tasks whose submissions get other scores by the proposal.

    Those with a new file; where it is about a score that was never recorded, all of the board's phase.
    """
    chosen = Q(pk__in=proposal.files.values("task"))
    if proposal.board is not None and proposal.column_is_new:
        chosen |= Q(phases=proposal.board.phase_id)
    return Task.objects.filter(chosen).distinct()


def counting_runs(proposal: Proposal) -> QuerySet[Run]:
    """The runs that the proposal gives other scores: scored ones, and failures of the scoring program.

    Disqualified submissions have them too, for they may be reinstated.
    """
    phases = Phase.objects.filter(competition=proposal.competition_id)
    ended = Q(submission__status=State.FINISHED) | Q(
        submission__status=State.FAILED, submission__reason=Reason.SCORING_ERROR
    )
    return Run.objects.filter(
        ended,
        submission__phase__in=phases,
        task__in=scored_tasks(proposal),
        is_smoke=False,
        fills_board=False,
        submission__is_smoke=False,
        submission__is_verification=False,
        submission__is_task_rerun=False,
    )


def missing_submissions(proposal: Proposal) -> QuerySet[Submission]:
    """The submissions that are still to be scored again, the oldest first.

    An applied proposal has those that were scored with the former files since: they ran while it was applied.
    """
    runs = counting_runs(proposal)
    if proposal.state == Proposal.State.APPLIED and proposal.ended_at is not None:
        runs = runs.exclude(task__in=superseded_tasks(proposal))
        runs = runs.filter(_scored_as_before(proposal), finished_at__gte=proposal.ended_at - BEFORE_IT_ENDED)
    known = Rescoring.objects.filter(proposal=proposal).values("submission")
    return Submission.objects.filter(pk__in=runs.values("submission")).exclude(pk__in=known).order_by("pk")


def _scored_as_before(proposal: Proposal) -> Q:
    """Runs with a file that this proposal or an earlier one replaced, or without the score that it needs."""
    former = Q(pk__in=[])
    applied = ProposedFile.objects.filter(
        proposal__state=Proposal.State.APPLIED, proposal__ended_at__lte=proposal.ended_at, replaces__isnull=False
    )
    for file in proposal.files.select_related("resource"):
        replaced = applied.filter(task=file.task_id, slot=file.slot).values_list("replaces__file", flat=True)
        digests = [f"sha256:{digest}" for digest in replaced if digest != file.resource.file_id]
        former |= Q(task=file.task_id) & Q(**{f"receipt__inputs__{file.slot}__in": digests})
    if proposal.board is not None and proposal.column_is_new:
        of_phase = Q(submission__phase=proposal.board.phase_id, queued_at__lt=proposal.ended_at)
        former |= of_phase & ~Q(scores__has_key=proposal.column_key)
    return former


def superseded_tasks(proposal: Proposal) -> set[int]:
    """Tasks of an applied proposal that have another file now, or that a later proposal scores."""
    if proposal.state != Proposal.State.APPLIED:
        return set()
    files = proposal.files.select_related("task")
    tasks = {file.task_id for file in files if getattr(file.task, f"{file.slot}_id") != file.resource_id}
    applied = Proposal.objects.filter(competition=proposal.competition_id, state=Proposal.State.APPLIED)
    own = scored_tasks(proposal).values("pk")
    for later in applied.filter(ended_at__gt=proposal.ended_at):
        tasks |= set(scored_tasks(later).filter(pk__in=own).values_list("pk", flat=True))
    return tasks


def is_superseded(proposal: Proposal) -> bool:
    """True once the proposal has no task left that it scores."""
    superseded = superseded_tasks(proposal)
    return bool(superseded) and not scored_tasks(proposal).exclude(pk__in=superseded).exists()


@transaction.atomic
def submission_rescore(*, proposal: Proposal, submission: Submission, now: datetime) -> Rescoring:
    """Queue a copy of the submission on the proposal's queue, behind everything that teams sent in."""
    originals = submission.runs.filter(task__in=scored_tasks(proposal), is_smoke=False, fills_board=False)
    tasks = Task.objects.filter(pk__in=originals.values("task")).order_by("pk")
    predictions = {run.task_id: stored_predictions(run) for run in originals}
    names = COPIED if all(predictions.values()) else COPIED + ENVIRONMENT
    copy = Submission.objects.create(
        phase=submission.phase,
        team=organizers_team(proposal.competition, proposal.created_by),
        submitted_by=proposal.created_by,
        description=f"#{submission.pk} for proposal {proposal.number}",
        status=State.QUEUED,
        received_at=now,
        created_at=now,
        is_charged=False,
        is_verification=True,
        rerun_of=submission,
        **{name: getattr(submission, name) for name in names},
    )
    rescoring = Rescoring.objects.create(proposal=proposal, submission=submission, copy=copy)
    runs = [_queue(proposal, copy, task, predictions[task.pk], now) for task in tasks]
    enter_queue(Run.objects.filter(pk__in=[run.pk for run in runs]), now=now)
    return rescoring


def _queue(proposal: Proposal, copy: Submission, task: Task, predictions: RunOutput | None, now: datetime) -> Run:
    """One run of the copy; it begins with scoring where the original's predictions are there."""
    run = Run(
        submission=copy,
        task=task,
        team_id=copy.team_id,
        queue=proposal.queue or proposal.competition.queue,
        priority=FILLING_PRIORITY,
        queued_at=now,
        not_before=now,
        state=State.QUEUED,
    )
    _attach(run, _files(proposal, task.pk))
    for name, value in planned_fields(copy, run.task).items():
        setattr(run, name, value)
    if predictions is not None:
        run.needs = Plan.model_validate(run.plan).after_ingestion().needs
        run.ingested_attempt, run.gpus = EARLIER_RUN, 0
    run.save(force_insert=True)
    if predictions is not None:
        RunOutput.objects.create(run=run, attempt=EARLIER_RUN, name=PREDICTIONS, file=predictions.file)
    return run


def stored_predictions(run: Run) -> RunOutput | None:
    """The predictions that a program left in this run; None where they went straight into scoring.

    Also None for predictions that were sent in, which are the submission's own file.
    """
    attempt = run.attempt if run.ingested_attempt is None else run.ingested_attempt
    if not run.plan or run.needs == Needs.TOGETHER:
        return None
    return RunOutput.objects.filter(run=run, attempt=attempt, name=PREDICTIONS).select_related("file").first()


def is_rescoring(submission: Submission) -> bool:
    """True for a copy that is scored for a proposal."""
    return submission.is_verification and Rescoring.objects.filter(copy=submission).exists()


def attach_proposed(run: Run) -> None:
    """Give a copy's run the proposed files in place of its task's, in memory; others stay as they are."""
    if run.submission.is_verification:
        proposal = Proposal.objects.filter(rescorings__copy=run.submission_id).first()
        if proposal is not None:
            _attach(run, _files(proposal, run.task_id))


def proposed_columns(run: Run) -> list[ScoreColumn]:
    """The column that a copy's run is asked for besides those of its boards."""
    if not run.submission.is_verification:
        return []
    proposals = Proposal.objects.filter(rescorings__copy=run.submission_id, board__phase=run.submission.phase_id)
    return [
        ScoreColumn(proposal.board.pk, proposal.board.visibility, proposal.column_key)
        for proposal in proposals.select_related("board")
        if proposal.board is not None
    ]


def _files(proposal: Proposal, task: int) -> Sequence[ProposedFile]:
    return list(ProposedFile.objects.filter(proposal=proposal, task=task).select_related("resource__file"))


def _attach(run: Run, files: Sequence[ProposedFile]) -> None:
    for proposed in files:
        resource: Resource = proposed.resource
        setattr(run.task, proposed.slot, resource)


@transaction.atomic
def scores_take(*, rescoring: Rescoring, actor: str, now: datetime) -> bool:
    """Give the submission what its copy scored; False for what was taken, or while either still runs.

    What was cancelled since stays so. Lock its runs before; boards are told by the caller, unless the submission's status
    changes.
    """
    proposal, superseded = rescoring.proposal, superseded_tasks(rescoring.proposal)
    copies = {run.task_id: run for run in rescoring.copy.runs.all() if run.task_id not in superseded}
    if rescoring.taken_at is not None or not copies or not all(_was_scored(run) for run in copies.values()):
        return False
    runs = list(rescoring.submission.runs.filter(task__in=copies, is_smoke=False, fills_board=False))
    if not all(run.is_final for run in runs):
        return False
    earlier = []
    for run in runs:
        if run.state == State.CANCELLED:
            continue
        earlier.append(_before(run))
        run_take(run=run, source=copies[run.task_id], actor=actor, now=now, note=f"proposal {proposal.number}")
    rescoring.taken_at, rescoring.former = now, earlier
    rescoring.save(update_fields=["taken_at", "former"])
    return True


def _was_scored(run: Run) -> bool:
    """True for a result that says something of the submission; False for a run that nobody's data ended."""
    return run.state == State.FINISHED or (run.state == State.FAILED and run.reason not in NOT_RUN)


def _before(run: Run) -> dict[str, object]:
    """A run as it was before it took other scores over."""
    return {
        "run": str(run.pk),
        "attempt": run.attempt,
        "state": run.state,
        "reason": run.reason,
        "scores": run.scores,
        "receipt": run.receipt,
    }

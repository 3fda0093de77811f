"""Proposals as organizers make them: begun, scored, discussed, applied or dropped."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, Q, QuerySet

from accounts.models import User
from competitions.catalog.changes.board_rules import faults_of_columns
from competitions.catalog.models import Competition, Phase, Proposal, ProposalComment, ProposedFile, Task
from competitions.catalog.queue_rights import QUEUE_NOT_ALLOWED, run_fault
from competitions.compute.models import Queue
from competitions.resources.models import Resource, StoredFile
from competitions.resources.versions import require_room
from competitions.runs.models import Rescoring, Run
from competitions.runs.rescoring import counting_runs, is_superseded, missing_submissions, scored_tasks
from competitions.runs.services import submission_rerun
from competitions.runs.transitions import cancel_held, run_move
from competitions.submissions.models import Dataset
from competitions.submissions.states import NOT_RUN, State
from core.background import jobs
from core.confirmations import state_digest
from core.refusals import RefusalKind
from files.text import quantity

PROPOSAL_JOB: Final = "proposal"
MOST_COMMENTS: Final = 500

PROPOSAL_EMPTY: Final = RefusalKind(
    409,
    "proposal_empty",
    "The proposal changes nothing yet. Upload a scoring program or reference data, or name a column.",
)
PROPOSAL_NOT_OPEN: Final = RefusalKind(
    409,
    "proposal_not_open",
    "Proposal {proposal.number} is {proposal.state_words}, so this cannot be changed any more.",
)
PROPOSAL_IN_WORK: Final = RefusalKind(
    409,
    "proposal_in_work",
    "Proposal {other.number} is being scored. Apply or drop it first: two at once would each change the board that the other is "
    "compared with.",
)
PROPOSAL_NOT_COMPARED: Final = RefusalKind(
    409,
    "proposal_not_compared",
    "What you saw is not what the proposal does now: submissions came, or another comparison was made. Look at it again.",
)
PROPOSAL_UNTRIED: Final = RefusalKind(
    409,
    "proposal_untried",
    "{untried} could not be run with the proposal, although no fault was found. Run what failed again, then apply it.",
)
PROPOSAL_SUPERSEDED: Final = RefusalKind(
    409,
    "proposal_superseded",
    "The scoring was changed again after proposal {proposal.number} was applied, so it has nothing left to score.",
)
TOO_MANY_COMMENTS: Final = RefusalKind(409, "too_many_comments", "A proposal has at most 500 comments.")


@transaction.atomic
def proposal_begin(*, competition: Competition, title: str, reason: str, by: User, now: datetime) -> Proposal:
    """Begin a proposal; it changes nothing yet."""
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # numbers are given in turn
    last = Proposal.objects.filter(competition=competition).aggregate(number=Max("number"))["number"]
    return Proposal.objects.create(
        competition=competition,
        number=(last or 0) + 1,
        title=title,
        reason=reason,
        created_at=now,
        created_by=by,
        asked_at=now,
    )


@transaction.atomic
def proposal_set(*, proposal: Proposal, **values: Any) -> None:
    """Store a draft's settings: title, reason, queue, board and column.

    Raises `PROPOSAL_NOT_OPEN` or `ValidationError`.
    """
    locked = draft_locked(proposal)
    for name, value in values.items():
        setattr(locked, name, value)
    locked.clean_fields(exclude=["competition", "created_by", "ended_by"])
    if faults := column_faults(locked):
        raise ValidationError({"column_key": faults})
    locked.save(update_fields=list(values))


def draft_locked(proposal: Proposal) -> Proposal:
    """The proposal, locked, while it is being prepared. Raises `PROPOSAL_NOT_OPEN`."""
    return _locked(proposal, [Proposal.State.DRAFT])


def _locked(proposal: Proposal, states: Iterable[str]) -> Proposal:
    row = Proposal.objects.select_for_update(of=("self",)).select_related("competition__queue", "board", "queue")
    locked = row.get(pk=proposal.pk)
    if locked.state not in states:
        raise PROPOSAL_NOT_OPEN(proposal=locked)
    return locked


@transaction.atomic
def proposal_put_file(
    *, proposal: Proposal, task: Task, slot: str, file: StoredFile, file_name: str, by: User
) -> ProposedFile:
    """Propose a file for a task, and for the others of the competition that have the same version now.

    Raises `PROPOSAL_NOT_OPEN` or `StorageQuotaUsed`.
    """
    locked = draft_locked(proposal)
    require_room(by, file.size_bytes)
    before: Resource | None = getattr(task, slot)
    resource = Resource.objects.create(
        owner=by,
        kind=slot,
        name=f"{locked.competition.title}: proposal {locked.number}"[:200],
        file=file,
        file_name=file_name,
    )
    tasks = [task]
    if before is not None:
        tasks = list(Task.objects.filter(competition=locked.competition_id, dataset=None, **{slot: before}))
    for each in tasks:
        values = {"resource": resource, "replaces": before}
        ProposedFile.objects.update_or_create(proposal=locked, task=each, slot=slot, defaults=values)
    return ProposedFile.objects.get(proposal=locked, task=task, slot=slot)


@transaction.atomic
def proposal_remove_file(*, proposal: Proposal, pk: int) -> None:
    """Leave a proposed file out, for every task that it is for. Raises `PROPOSAL_NOT_OPEN`."""
    locked = draft_locked(proposal)
    chosen = ProposedFile.objects.filter(proposal=locked, pk=pk).values("resource")
    ProposedFile.objects.filter(proposal=locked, resource__in=list(chosen.values_list("resource", flat=True))).delete()


def column_faults(proposal: Proposal) -> list[str]:
    """Faults of the proposed column on its board, in words."""
    board = proposal.board
    if board is None:
        return []
    columns = proposal.columns_after(board)
    for column in columns:
        if column.key == proposal.column_key:
            try:
                column.clean_fields(exclude=["leaderboard"])
                column.clean()
            except ValidationError as error:
                return error.messages
    return [fault.text for fault in faults_of_columns(board, columns)]


@transaction.atomic
def proposal_start(*, proposal: Proposal, now: datetime) -> None:
    """Have every submission scored by the proposal in the background.

    Raises `PROPOSAL_NOT_OPEN`, `PROPOSAL_EMPTY`, `PROPOSAL_IN_WORK`, `QUEUE_NOT_ALLOWED`, or `ValidationError` for its column.
    """
    Competition.objects.select_for_update(no_key=True).get(pk=proposal.competition_id)
    locked = draft_locked(proposal)
    if locked.board is None and not locked.files.exists():
        raise PROPOSAL_EMPTY()
    others = Proposal.objects.filter(competition=locked.competition_id)
    other = others.filter(state__in=[Proposal.State.SCORING, Proposal.State.APPLYING]).first()
    if other is not None:
        raise PROPOSAL_IN_WORK(other=other)
    if faults := column_faults(locked):
        raise ValidationError({"column_key": faults})
    if locked.board is not None:
        locked.column_is_new = not locked.board.columns.filter(key=locked.column_key).exists()
    _require_queue(locked, locked.queue or locked.competition.queue)
    locked.state = Proposal.State.SCORING
    locked.save(update_fields=["state", "column_is_new"])
    ask_work(locked, now=now)


def _require_queue(proposal: Proposal, queue: Queue) -> None:
    """Refuse a queue whose workers may not have the tasks or the scores of a phase."""
    for task in scored_tasks(proposal):
        for phase in Phase.objects.filter(tasks=task, competition=proposal.competition_id).select_related(
            "competition"
        ):
            if fault := run_fault(task, phase, queue):
                raise QUEUE_NOT_ALLOWED(detail=fault)


def ask_work(proposal: Proposal, *, now: datetime) -> None:
    """Have the background go on with the proposal."""
    Proposal.objects.filter(pk=proposal.pk).update(needs_work=True, asked_at=now, attempts=0)
    jobs.send_after_commit(PROPOSAL_JOB, proposal.pk)


@transaction.atomic
def proposal_drop(*, proposal: Proposal, by: User, now: datetime) -> None:
    """End a proposal without a change; the background cancels what waits. Raises `PROPOSAL_NOT_OPEN`."""
    locked = _locked(proposal, [Proposal.State.DRAFT, Proposal.State.SCORING])
    locked.state, locked.ended_at, locked.ended_by = Proposal.State.DROPPED, now, by
    locked.save(update_fields=["state", "ended_at", "ended_by"])
    ask_work(locked, now=now)


def copies_cancel(proposal: Proposal, *, now: datetime) -> None:
    """Cancel the runs of a proposal that wait, and ask the workers to stop the others."""
    runs = Run.objects.filter(submission__rescores__proposal=proposal)
    for run in runs.filter(state=State.QUEUED).order_by("pk"):
        run_move(run, target=State.CANCELLED, actor=f"proposal:{proposal.number}", now=now)
    cancel_held(runs, now=now)  # after those that wait: one may be claimed meanwhile


@transaction.atomic
def proposal_comment(*, proposal: Proposal, text: str, by: User, now: datetime) -> ProposalComment:
    """Say something about a proposal to the other organizers. Raises `TOO_MANY_COMMENTS`."""
    Proposal.objects.select_for_update(of=("self",)).get(pk=proposal.pk)
    if proposal.comments.count() >= MOST_COMMENTS:
        raise TOO_MANY_COMMENTS()
    return ProposalComment.objects.create(proposal=proposal, by=by, text=text, written_at=now)


def comparison_digest(proposal: Proposal) -> str:
    """The comparison that an organizer agrees to, as it was shown; it tells nothing of the boards."""
    made_at = "" if proposal.compared_at is None else proposal.compared_at.isoformat()
    return state_digest([str(proposal.pk), str(proposal.compared_count), made_at])


@transaction.atomic
def proposal_apply(*, proposal: Proposal, by: User, confirmed: str, now: datetime) -> None:
    """Have the proposal put in force by the background, in one transaction.

    Raises `PROPOSAL_NOT_OPEN`, or `PROPOSAL_NOT_COMPARED` unless exactly this comparison was confirmed.
    """
    locked = _locked(proposal, [Proposal.State.SCORING])
    is_compared = locked.compared_count is not None and not locked.fault
    if not is_compared or confirmed != comparison_digest(locked):
        raise PROPOSAL_NOT_COMPARED()
    if count := untried(locked).count():
        raise PROPOSAL_UNTRIED(untried=quantity(count, "submission"))
    locked.state, locked.ended_by = Proposal.State.APPLYING, by
    locked.save(update_fields=["state", "ended_by"])
    ask_work(locked, now=now)


def untried(proposal: Proposal) -> QuerySet[Rescoring]:
    """The rescorings whose copy ended without a score, although no data was wrong."""
    ended = Q(copy__status=State.CANCELLED) | Q(copy__status=State.FAILED, copy__reason__in=NOT_RUN)
    return Rescoring.objects.filter(ended, proposal=proposal, taken_at=None)


@transaction.atomic
def proposal_retry(*, proposal: Proposal, now: datetime) -> None:
    """Run again what was not scored, and compare anew what is not applied.

    Raises `PROPOSAL_NOT_OPEN` or `PROPOSAL_SUPERSEDED`.
    """
    locked = _locked(proposal, [Proposal.State.SCORING, Proposal.State.APPLIED])
    if is_superseded(locked):
        raise PROPOSAL_SUPERSEDED(proposal=locked)
    compared_count = None if locked.is_open else locked.compared_count
    Proposal.objects.filter(pk=locked.pk).update(
        fault="", compared_count=compared_count, tries_again=True, is_settled=False
    )
    ask_work(locked, now=now)


def copies_rerun(proposal: Proposal, *, now: datetime) -> None:
    """Run again the copies that ended without being scored."""
    for rescoring in untried(proposal).select_related("copy"):
        submission_rerun(submission=rescoring.copy, actor=f"proposal:{proposal.number}", now=now)
    Proposal.objects.filter(pk=proposal.pk).update(tries_again=False)


def is_complete(proposal: Proposal) -> bool:
    """True if every submission is scored by the proposal."""
    ended = proposal.rescorings.exclude(copy__status__in=[State.FINISHED, State.FAILED, State.CANCELLED])
    return not ended.exists() and not missing_submissions(proposal).exists()


def count_kept_datasets(proposal: Proposal) -> int:
    """Submitted datasets on growing boards that keep the scoring program which the proposal replaces.

    A dataset's column compares all algorithms by one program, so that ranks on it stay fair.
    """
    former = proposal.files.filter(slot=Resource.Kind.SCORING_PROGRAM).values("replaces")
    datasets = Dataset.objects.filter(submission__phase__competition=proposal.competition_id)
    datasets = datasets.filter(withdrawn_at=None, submission__disqualified_at=None)
    return datasets.filter(task__scoring_program__in=former).count()


def count_submissions(proposal: Proposal) -> int:
    """Submissions that the proposal gives other scores."""
    return counting_runs(proposal).values("submission").distinct().count()

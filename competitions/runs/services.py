"""Starting, cancelling, moving and re-running runs, a winner's code run again, runs of merging teams."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import Case, Count, F, FloatField, Q, QuerySet, Sum, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Competition, Phase, Task
from competitions.catalog.organizers import organizes
from competitions.compute.models import Queue
from competitions.environments.choice import NO_ENVIRONMENT, Environment
from competitions.resources.models import StoredFile
from competitions.runs import refusals
from competitions.runs.models import Run, RunEvent
from competitions.runs.planning import request_check, runs_queue
from competitions.runs.queue.ranking import enter_queue
from competitions.runs.transitions import run_move, run_reopen
from competitions.submissions.models import FileCheck, Submission
from competitions.submissions.notices import rescoring_notify
from competitions.submissions.refusals import MERGE_BACK, MERGE_OVER_QUOTA, NOTHING_TO_RUN
from competitions.submissions.states import FINAL, HELD, Kind, State
from competitions.teams.models import Team
from competitions.teams.services import require_admitted
from core.background.jobs import after_commit
from core.background.rows import asker_key
from core.refusals import NotAllowed, Refusal

MOST_AT_ONCE: Final = 200  # submissions that one press starts: each is a transaction of its own in the request


@transaction.atomic
def verification_create(
    *,
    phase: Phase,
    team: Team,
    by: User,
    file: StoredFile,
    file_name: str,
    now: datetime,
    seed: int = 0,
    checks: Collection[Task] = (),
    environment: Environment = NO_ENVIRONMENT,
) -> Submission:
    """Run a winner's code again for an organizer, on the phase's tasks or on these `checks`.

    It has the phase's budget, costs no quota, stands on no board and has no deadline. The code is told the `seed` and
    gets the team's `environment`. Raises `NOTHING_TO_RUN`.
    """
    tasks = checks or list(phase.tasks.all())
    if not tasks:
        raise NOTHING_TO_RUN(phase=phase)
    submission = Submission.objects.create(
        phase=phase,
        team=team,
        submitted_by=by,
        kind=Kind.CODE,
        file=file,
        file_name=file_name,
        received_at=now,
        created_at=now,
        description="Verification run",
        status=State.CHECKING,
        is_charged=False,
        is_verification=True,
        is_check=bool(checks),
        seed=seed,
        weights=environment.weights,
        image=environment.image,
        image_reference=environment.image_reference,
    )
    runs_queue(submission=submission, tasks=tasks, now=now)
    return submission


@transaction.atomic
def submission_cancel(*, submission: Submission, actor: str, now: datetime) -> None:
    """Cancel at once what waits; ask the worker to stop what runs. Raises `ALREADY_ENDED`.

    What fills a growing board goes on: nobody picks the datasets that an algorithm is compared on.
    """
    runs = [run for run in locked_runs(submission) if not run.fills_board]
    if any(run.is_smoke for run in runs):  # whose end makes others, which a lock that waited for it has not seen
        runs = [run for run in locked_runs(submission) if not run.fills_board]
    if all(run.is_final for run in runs):
        raise refusals.ALREADY_ENDED()
    for run in runs:
        if run.is_final:
            continue
        if run.state in HELD:
            Run.objects.filter(pk=run.pk, state__in=HELD).update(cancel_requested_at=now)
        else:
            run_move(run, target=State.CANCELLED, actor=actor, now=now)
    waiting = FileCheck.objects.filter(submission=submission, outcome=FileCheck.Status.WAITING)
    # A process that reads the file stops when it next renews its claim.
    waiting.update(outcome=FileCheck.Status.CANCELLED, finished_at=now, claimed_until=None)


def submission_cancel_by(*, submission: Submission, by: User, now: datetime) -> None:
    """Cancel for an organizer or a member of the team; one's own also after one was denied.

    Cancelling one's own saves work, and takes from nobody. Raises `ALREADY_ENDED` or why the person is not admitted.
    """
    if submission.submitted_by_id != by.pk and not organizes(by, submission.phase.competition_id):
        require_admitted(user=by, competition=submission.phase.competition)
    submission_cancel(submission=submission, actor=f"user:{by.username}", now=now)


@transaction.atomic
def submission_rerun(*, submission: Submission, actor: str, now: datetime) -> int:
    """Run each task of an ended submission again as a new attempt; returns the number of runs.

    Raises `StillRunning`.
    """
    runs = locked_runs(submission)
    if not all(run.is_final for run in runs):
        raise refusals.StillRunning
    runs = [run for run in runs if not run.is_smoke] or runs  # what passed its smoke run has no need of another
    count = sum(run_reopen(run=run, actor=actor, now=now, note="re-run") for run in runs)
    if submission.checked_at is None:
        request_check(submission, now)
    rescoring_notify(submission=submission, now=now)
    return count


def locked_runs(submission: Submission) -> list[Run]:
    """Lock and return the submission's runs; runs are always locked before their submission."""
    rows = (
        Run.objects.select_for_update(of=("self",))
        .select_related("queue", "submission__phase", "task")
        .filter(submission=submission)
    )
    return list(rows.order_by("pk"))


def submissions_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`, under both teams' locks: submissions and runs move, used quota adds up.

    Raises `MERGE_BACK`, or `MERGE_OVER_QUOTA` when the two have used more of a phase than one team may in total; what is left of a
    day or a week may become none, which costs nobody anything.
    """
    _require_no_return(team, absorbed)
    _require_quota(team, absorbed)
    # See the locking policy.
    list(Run.objects.select_for_update().filter(team=absorbed).order_by("pk").values_list("pk"))
    moving = Submission.objects.filter(team=absorbed)
    # A key that both teams used stays with the team that keeps its name.
    own_submissions = Submission.objects.filter(team=team).exclude(idempotency_key="")
    moving.filter(idempotency_key__in=list(own_submissions.values_list("idempotency_key", flat=True))).update(
        idempotency_key=""
    )
    FileCheck.objects.filter(submission__team=absorbed).update(asker=asker_key("team", team.pk))
    moving.update(team=team)
    Run.objects.filter(team=absorbed).update(team=team)
    after_commit(_take_turns, team)


@transaction.atomic
def _take_turns(team: Team) -> None:
    """Give a merged team its turns, behind all locks of the merge; the reconciler repairs lost ones."""
    enter_queue(Run.objects.filter(team=team), now=timezone.now())


def _require_no_return(team: Team, absorbed: Team) -> None:
    """Raise `MERGE_BACK` for a person who submitted for both teams.

    Each day they would leave, submit by themselves, and come back.
    """
    here = Submission.objects.filter(team=team).values("submitted_by")
    both = Submission.objects.filter(team=absorbed, submitted_by__in=here).select_related("submitted_by").first()
    if both is not None:
        raise MERGE_BACK(person=both.submitted_by)


def _require_quota(team: Team, absorbed: Team) -> None:
    charged = Submission.objects.filter(team__in=(team, absorbed), is_charged=True)
    for phase in Phase.objects.filter(competition=team.competition_id, max_submissions__isnull=False):
        used, limit = charged.filter(phase=phase).count(), phase.max_submissions
        if limit is not None and used > limit:
            raise MERGE_OVER_QUOTA(phase=phase, used=used, limit=limit)


def unstarted_submissions(competition: Competition) -> QuerySet[Submission]:
    """The submissions that wait for an organizer, oldest first; disqualified ones wait for nobody."""
    rows = Submission.objects.filter(phase__competition=competition, status=State.UNSTARTED, disqualified_at=None)
    return rows.order_by("pk")


def submission_start(*, submission: Submission, by: User, now: datetime) -> int:
    """Queue the runs that wait for the organizers, where the competition runs now; returns how many.

    Raises `NotAllowed` for anybody but its organizers, or `NOTHING_TO_START`.
    """
    if not organizes(by, submission.phase.competition_id):
        raise NotAllowed("Only the competition's organizers start submissions.")
    return _start(submission, f"organizer:{by.username}", now)


@transaction.atomic
def _start(submission: Submission, actor: str, now: datetime) -> int:
    """Queue its waiting runs. Raises `NOTHING_TO_START`."""
    runs = [run for run in locked_runs(submission) if run.state == State.UNSTARTED]
    if not runs:
        raise refusals.NOTHING_TO_START(number=submission.pk, state=State(submission.status).label)
    phase = submission.phase
    for run in runs:
        run_move(
            run,
            target=State.QUEUED,
            actor=actor,
            now=now,
            queue_id=phase.competition.queue_id,
            priority=phase.priority,
            queued_at=now,
            not_before=now,
        )
    return len(runs)


def waiting_start(*, competition: Competition, actor: str, now: datetime) -> tuple[int, int]:
    """Start the `MOST_AT_ONCE` oldest that wait; returns how many were started, and how many still wait."""
    started = 0
    waiting = unstarted_submissions(competition)
    for submission in waiting.select_related("phase__competition")[:MOST_AT_ONCE]:
        try:
            started += _start(submission, actor, now) > 0
        except Refusal as refusal:  # another organizer, or its team, was faster
            if refusal.code != refusals.NOTHING_TO_START.code:
                raise
    return started, waiting.count()


@dataclass(frozen=True)
class Cost:
    """The size of a bulk action. Times are seconds of wall clock of the runs' containers."""

    submissions: int
    runs: int
    waiting: int
    running: int
    ended: int
    used_s: float
    at_most_s: float
    gpu_runs: int


def bulk_cost(submissions: QuerySet[Submission]) -> Cost:
    """The cost of these submissions, counted in two queries however many there are."""
    of_program = When(~Q(submission__kind=Kind.PREDICTION), then=F("submission__phase__time_limit_s"))
    limit = F("submission__phase__scoring_time_limit_s") + Case(of_program, default=0)
    wall_s = Cast(KT("meters__wall_s"), FloatField())
    sizes = Run.objects.filter(submission__in=submissions.values("pk")).aggregate(
        runs=Count("pk"),
        waiting=Count("pk", filter=Q(state__in=(State.CHECKING, State.UNSTARTED, State.QUEUED))),
        running=Count("pk", filter=Q(state__in=HELD)),
        ended=Count("pk", filter=Q(state__in=FINAL)),
        used_s=Sum(wall_s, default=0.0),
        at_most_s=Cast(Sum(limit, default=0), FloatField()),
        gpu_runs=Count("pk", filter=Q(gpus__gt=0)),
    )
    return Cost(submissions=submissions.count(), **sizes)


@transaction.atomic
def runs_move_to_queue(*, submission: Submission, queue: Queue, actor: str, now: datetime) -> int:
    """Move a submission's waiting runs to another queue, keeping their age; returns how many moved."""
    waiting = Run.objects.select_for_update().filter(submission=submission, state=State.QUEUED)
    moved = list(waiting.exclude(queue=queue).order_by("pk"))
    Run.objects.filter(pk__in=[run.pk for run in moved]).update(queue=queue)
    RunEvent.objects.bulk_create(
        RunEvent(
            run=run,
            attempt=run.attempt,
            source=State.QUEUED,
            target=State.QUEUED,
            actor=actor,
            at=now,
            note=f"moved to the queue {queue.name}",
        )
        for run in moved
    )
    enter_queue(Run.objects.filter(pk__in=[run.pk for run in moved]), now=now)
    return len(moved)

"""New submissions made from others: run again, run on a chosen task, or moved to the next phase."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Phase, Task
from competitions.catalog.organizers import organizes
from competitions.catalog.sealed_keys import published_by
from competitions.runs.planning import runs_queue
from competitions.runs.refusals import TASK_SEALED, StillRunning
from competitions.submissions.models import Submission
from competitions.submissions.refusals import NOTHING_TO_RUN
from competitions.submissions.states import FINAL, State
from competitions.teams.models import Membership, Team

COPIED = (
    "team",
    "kind",
    "file",
    "file_name",
    "description",
    "tag_text",
    "commit",
    "link",
    "program",
    "fact_sheet",
    "checked_at",
    "weights",
    "image",
    "image_reference",
    "requirements",
    "solution",
    "agent_model",
    "agent_harness",
)

# Running again makes nothing eligible.
OFF_THE_BOARD = ("is_late", "is_verification", "disqualified_at", "disqualified_reason")


def may_repeat(user: User, submission: Submission) -> bool:
    """True where this account may run the submission again: an organizer, or a service account.

    Those run what their own team sent in, and what others did where the competition allows it.
    """
    if organizes(user, submission.phase):
        return True
    if not user.is_robot:
        return False
    is_own = Membership.objects.filter(team=submission.team_id, user=user).exists()
    return is_own or submission.phase.competition.allow_robot_submissions


@transaction.atomic
def submission_repeat(*, submission: Submission, by: User, now: datetime, task: Task | None = None) -> Submission:
    """Run an ended submission again as a new one that costs no quota.

    With `task`, it runs on that alone and stands on no board. Raises `StillRunning`, or `TASK_SEALED` where the phase
    would show what another keeps sealed.
    """
    if submission.status not in FINAL:
        raise StillRunning
    if task is not None and (sealed := published_by(submission.phase, [task])):
        raise TASK_SEALED(task=task, phase=next(iter(sealed.values())))
    is_of_organizers = not submission.team.memberships.exists()  # a solution, which stands on no board
    return _copy(
        submission,
        submission.phase,
        by,
        now,
        [task] if task else [],
        rerun_of=submission,
        is_task_rerun=bool(task) or is_of_organizers,
        **{name: getattr(submission, name) for name in OFF_THE_BOARD},
    )


@transaction.atomic
def submission_migrate(*, submission: Submission, phase: Phase, by: User, now: datetime) -> Submission | None:
    """Carry a submission into a phase, once: None where it is there already."""
    Team.objects.select_for_update().get(pk=submission.team_id)
    if Submission.objects.filter(phase=phase, migrated_from=submission).exists():
        return None
    return _copy(submission, phase, by, now, [], migrated_from=submission)


def _copy(
    source: Submission, phase: Phase, by: User, now: datetime, tasks: Collection[Task], **more: object
) -> Submission:
    copied = {name: getattr(source, name) for name in COPIED}
    status = State.QUEUED if source.checked_at else State.CHECKING
    submission = Submission(
        phase=phase, submitted_by=by, received_at=now, created_at=now, is_charged=False, status=status, **copied, **more
    )
    submission.full_clean()
    submission.save(force_insert=True)
    chosen = tasks or phase.tasks_for(source.kind)
    if not chosen:
        raise NOTHING_TO_RUN(phase=phase)
    runs_queue(submission=submission, tasks=chosen, now=now)
    return submission

"""New submissions made from others, run again or moved to the next phase, or from a solution.

A solution of the organizers runs as a submission of their own, which nobody else sees.
"""

from collections.abc import Collection
from datetime import datetime
from functools import partial
from itertools import chain, count
from typing import Final

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Competition, Phase, Solution, Task
from competitions.catalog.organizers import organizes
from competitions.catalog.sealed_keys import published_by
from competitions.resources.storage import local_copy
from competitions.runs.planning import runs_queue
from competitions.runs.refusals import (
    FREE_NOT_REPEATED,
    SMOKE_NOT_REPEATED,
    SOLUTION_OF_OTHER_TASKS,
    TASK_SEALED,
    StillRunning,
)
from competitions.submissions.file_checks.kinds import choose_kind, zip_names
from competitions.submissions.models import Submission
from competitions.submissions.refusals import NOTHING_TO_RUN
from competitions.submissions.states import FINAL, State
from competitions.teams.models import Membership, Team
from competitions.teams.services import find_registration, require_admitted

SOLUTIONS: Final = "Solutions"  # the team
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
    if organizes(user, submission.phase.competition_id):
        return True
    if not user.is_robot:
        return False
    is_own = Membership.objects.filter(team=submission.team_id, user=user).exists()
    return is_own or submission.phase.competition.allow_robot_submissions


@transaction.atomic
def submission_repeat(*, submission: Submission, by: User, now: datetime, task: Task | None = None) -> Submission:
    """Run an ended submission again as a new one that costs no quota.

    With `task`, it runs on that alone. Then it stands on no board, nor does what a service account runs again: it would be
    one more draw, also after the end. Raises `StillRunning`, `SMOKE_NOT_REPEATED`, `FREE_NOT_REPEATED`, why a service account
    is not admitted, or `TASK_SEALED` where the phase would show what another keeps sealed.
    """
    if submission.status not in FINAL:
        raise StillRunning
    if submission.is_smoke:
        raise SMOKE_NOT_REPEATED(number=submission.pk)
    is_organizers = organizes(by, submission.phase.competition_id)
    if not is_organizers:
        _require_taking_part(submission, by)
    if task is not None and (sealed := published_by(submission.phase, [task])):
        raise TASK_SEALED(task=task, phase=next(iter(sealed.values())))
    is_solution = not submission.team.memberships.exists()
    return _copy(
        submission,
        submission.phase,
        by,
        now,
        [task] if task else [],
        rerun_of=submission,
        is_task_rerun=task is not None or is_solution or not is_organizers,  # which stands on no board
        **{name: getattr(submission, name) for name in OFF_THE_BOARD},
    )


def _require_taking_part(submission: Submission, robot: User) -> None:
    """Refuse a service account that was not admitted, and what it would run for nothing."""
    if find_registration(robot, submission.phase.competition) is not None:
        require_admitted(user=robot, competition=submission.phase.competition)
    if submission.status == State.CANCELLED or not submission.is_charged:
        raise FREE_NOT_REPEATED(number=submission.pk)


@transaction.atomic
def submission_migrate(*, submission: Submission, phase: Phase, by: User, now: datetime) -> Submission | None:
    """Carry a submission into a phase, once: None where it is there already."""
    Team.objects.select_for_update(no_key=True).get(pk=submission.team_id)
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


@transaction.atomic
def solution_run(*, solution: Solution, phase: Phase, by: User, now: datetime) -> Submission:
    """Run a solution on its tasks of the phase. It costs no quota and stands on no board.

    Raises `SOLUTION_OF_OTHER_TASKS`, or `WhichKind` where the phase takes several kinds and the file looks like none of them.
    """
    for_tasks = set(solution.tasks.values_list("pk", flat=True))
    tasks = [task for task in phase.tasks.all() if task.pk in for_tasks]
    if not tasks:
        raise SOLUTION_OF_OTHER_TASKS(solution=solution, phase=phase)
    resource = solution.resource
    with local_copy(resource.file) as path:
        kind = choose_kind(phase, partial(zip_names, path, resource.file_name), resource.file_name)
    submission = Submission(
        phase=phase,
        team=organizers_team(phase.competition, by),
        submitted_by=by,
        kind=kind,
        file=resource.file,
        file_name=resource.file_name,
        description=f"Solution “{solution.name}”",
        received_at=now,
        created_at=now,
        status=State.CHECKING,
        is_charged=False,
        is_task_rerun=True,
        solution=solution,
    )
    submission.full_clean()
    submission.save(force_insert=True)
    runs_queue(submission=submission, tasks=tasks, now=now)
    return submission


def organizers_team(competition: Competition, by: User) -> Team:
    """A baseline team without members: what is submitted for it, organizers alone see."""
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # those who press at once take turns
    teams = Team.objects.filter(competition=competition)
    team = teams.filter(is_baseline=True, memberships=None, merged_into=None).first()
    if team is not None:
        return team
    names = chain([SOLUTIONS], (f"{SOLUTIONS} {number}" for number in count(2)))
    name = next(name for name in names if not teams.filter(name__iexact=name).exists())
    return Team.objects.create(competition=competition, name=name, captain=by, is_baseline=True)

"""Running a solution of the organizers as a submission of their own, which nobody else sees."""

from datetime import datetime
from functools import partial
from itertools import chain, count
from typing import Final

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Competition, Phase, Solution
from competitions.resources.storage import local_copy
from competitions.runs.planning import runs_queue
from competitions.runs.refusals import SOLUTION_OF_OTHER_TASKS
from competitions.submissions.file_checks.kinds import choose_kind, zip_names
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Team

TEAM: Final = "Solutions"


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
    names = chain([TEAM], (f"{TEAM} {number}" for number in count(2)))
    name = next(name for name in names if not teams.filter(name__iexact=name).exists())
    return Team.objects.create(competition=competition, name=name, captain=by, is_baseline=True)

"""The smoke run: on the phase's public mini split, before anything hidden is touched."""

from datetime import datetime
from typing import Final

from competitions.catalog.models import Phase
from competitions.runs.models import Run
from competitions.runs.planning import runs_add, waits_for_organizers
from competitions.submissions.states import State
from workers.protocol.smoke import SMOKE_WALL_S, WholeTime, project_whole

TASK_HIDDEN: Final = "smoke_task_hidden"


def queue_after_smoke_run(run: Run, now: datetime) -> None:
    """Queue the other runs of a submission after its smoke run, or let them wait for the organizers.

    The run is locked, its submission not yet. A submission that is being cancelled, or asked for its smoke run alone,
    goes no further.
    """
    submission = run.submission
    if run.cancel_requested_at is not None or submission.is_smoke:
        return
    phase: Phase = submission.phase
    have = set(submission.runs.values_list("task", flat=True))
    tasks = [task for task in phase.tasks_for(submission.kind) if task.pk not in have]
    state = State.UNSTARTED if waits_for_organizers(submission) else State.QUEUED
    runs_add(submission=submission, tasks=tasks, priority=phase.priority, now=now, state=state)


def time_limit_s(run: Run, phase: Phase) -> int:
    """The seconds that the team's program may take in this run."""
    return smoke_limit_s(phase) if run.is_smoke else phase.time_limit_s


def smoke_limit_s(phase: Phase) -> int:
    """The seconds that a team's program may take in a smoke run."""
    return min(phase.time_limit_s, SMOKE_WALL_S)


def scoring_time_limit_s(run: Run, phase: Phase) -> int:
    """The seconds that the scoring program may take in this run."""
    beside = run.task.runs_beside_scoring
    limit_s = max(phase.scoring_time_limit_s, phase.time_limit_s) if beside else phase.scoring_time_limit_s
    return min(limit_s, SMOKE_WALL_S) if run.is_smoke else limit_s


def projected_whole(run: Run, phase: Phase) -> WholeTime | None:
    """The time of the run on the hidden data, by a smoke run that has passed; None without one."""
    wall_s = run.meters.get("wall_s")
    is_known = run.is_smoke and run.state == State.FINISHED and isinstance(wall_s, int | float)
    return project_whole(wall_s, phase.smoke_scale) if is_known else None

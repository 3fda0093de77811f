"""Consequences of changed settings for runs that wait and for those that have ended."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from competitions.catalog.changes.change import impact_check
from competitions.catalog.models import Budget, Competition, Phase
from competitions.runs.models import Run
from competitions.runs.services import unstarted_submissions
from competitions.submissions.states import LIVE, Kind, State
from files.text import quantity

BUDGET: Final = (*(field.name for field in fields(Budget)), "docker_image")


@impact_check(Phase)
def budgets_change(phase: Phase, changes: Mapping[str, Any], now: datetime) -> Iterator[str]:
    changed = [name for name in BUDGET if name in changes]
    if not changed:
        return
    runs = Run.objects.filter(submission__phase=phase)
    if waiting := runs.filter(state__in=LIVE).count():
        yield f"{quantity(waiting, 'run')} not finished yet would start under the new budget, if not started."
    limit_s = changes.get("time_limit_s")
    if limit_s is not None and limit_s < phase.time_limit_s:
        over = runs.filter(state=State.FINISHED, submission__kind=Kind.CODE, meters__wall_s__gt=limit_s).count()
        if over:
            yield f"{quantity(over, 'finished run')} took longer than the new time limit, and would fail now."


@impact_check(Competition)
def starting_changes(competition: Competition, changes: Mapping[str, object], now: datetime) -> Iterator[str]:
    if changes.get("auto_run_submissions") is False and competition.is_published:
        yield "New submissions wait, once their file is checked, until an organizer starts them."
    if changes.get("auto_run_submissions") is True and (waiting := unstarted_submissions(competition).count()):
        these = "submission still waits" if waiting == 1 else "submissions still wait"
        yield f"{waiting} {these} for an organizer: see the page Submissions. New submissions will run at once."

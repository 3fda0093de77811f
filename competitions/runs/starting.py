"""Starting what waits for the organizers, in competitions that do not run submissions at once."""

from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from competitions.catalog.models import Competition
from competitions.runs.refusals import NOTHING_TO_START
from competitions.runs.services import locked_runs
from competitions.runs.transitions import run_move
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from core.refusals import Refusal

MOST_AT_ONCE: Final = 200  # by one press: each is a transaction of its own in the request


def unstarted_submissions(competition: Competition) -> QuerySet[Submission]:
    """Those that wait for an organizer, oldest first; what is disqualified waits for nobody."""
    rows = Submission.objects.filter(phase__competition=competition, status=State.UNSTARTED, disqualified_at=None)
    return rows.order_by("pk")


@transaction.atomic
def submission_start(*, submission: Submission, actor: str, now: datetime) -> int:
    """Queue the runs that wait for the organizers, where the competition runs now; returns how many.

    Raises `NOTHING_TO_START`.
    """
    runs = [run for run in locked_runs(submission) if run.state == State.UNSTARTED]
    if not runs:
        raise NOTHING_TO_START(number=submission.pk, state=State(submission.status).label)
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
            started += submission_start(submission=submission, actor=actor, now=now) > 0
        except Refusal as refusal:  # another organizer, or its team, was faster
            if refusal.code != NOTHING_TO_START.code:
                raise
    return started, waiting.count()

"""Acting on many submissions at once: first what it would concern and cost, then the act itself."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from competitions.compute.models import Queue
from competitions.runs.models import Run, RunEvent
from competitions.runs.queue.ranking import enter_queue
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL, HELD, State


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
    runs = list(
        Run.objects.filter(submission__in=submissions.values("pk")).values_list(
            "state",
            "meters",
            "gpus",
            "submission__phase__time_limit_s",
            "submission__phase__scoring_time_limit_s",
            "submission__kind",
        )
    )
    limits = [scoring + (0 if kind == "prediction" else ingestion) for _, _, _, ingestion, scoring, kind in runs]
    states = [row[0] for row in runs]
    return Cost(
        submissions=submissions.count(),
        runs=len(runs),
        waiting=sum(states.count(state) for state in (State.CHECKING, State.UNSTARTED, State.QUEUED)),
        running=sum(state in HELD for state in states),
        ended=sum(state in FINAL for state in states),
        used_s=sum(float(row[1].get("wall_s") or 0) for row in runs),
        at_most_s=float(sum(limits)),
        gpu_runs=sum(row[2] > 0 for row in runs),
    )


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

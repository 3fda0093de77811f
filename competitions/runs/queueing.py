"""Whose turn it is: the order in which a queue hands out its runs, and what a worker may not be given."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Case, Count, Exists, Max, Min, OuterRef, Q, QuerySet, When

from competitions.compute.models import WORKER_SILENT_AFTER_S, ComputeWorker, Queue
from competitions.runs.models import Attempt, Run, TeamTurn
from competitions.submissions.models import Program
from competitions.submissions.states import HELD, Kind, Reason, State

_INGESTED_FIRST = Q(task__ingestion_program__isnull=False, task__ingestion_only_during_scoring=False)
_BY_OWN_COMMAND = Q(submission__kind=Kind.CODE) & (
    Q(submission__phase__as_on_codabench=True, submission__program=Program.COMMAND)
    | Q(submission__phase__as_on_codabench=False, task__ingestion_program=None)
)
# As `jobs.stages_for` decides. Runs whose ingestion program runs beside the scoring program need one worker for both.
HAS_FIRST_STAGE: Final = ~Q(submission__kind=Kind.PREDICTION) & (_INGESTED_FIRST | _BY_OWN_COMMAND)
INSEPARABLE: Final = ~Q(submission__kind=Kind.PREDICTION) & Q(
    task__ingestion_program__isnull=False, task__ingestion_only_during_scoring=True
)
ELSEWHERE_FIRST_S: Final = 120  # how long a run that failed on a worker waits for another one


def turns(worker: ComputeWorker, *, free_gpus: int, now: datetime) -> Iterator[QuerySet[Run]]:
    """The runs that this worker could take, a team at a time, whose turn is first coming first; each oldest first.

    The order: phase priority, then the team with the fewest runs in flight, then the team that was served longest ago,
    then age. What fills a growing board comes last, and is nobody's turn.
    Left out: runs of teams at the queue's cap, and runs that failed on this worker while another may take them.
    Teams are ranked and not runs, so that a claim costs no more when one team queues a thousand.
    """
    waiting = Run.objects.filter(queue=worker.queue, state=State.QUEUED, not_before__lte=now, gpus__lte=free_gpus)
    waiting = _fit_for(worker, waiting)
    rows = _by_team(waiting)
    if any(faults for _, _, _, faults in rows):
        waiting = _elsewhere_first(waiting, worker, now)
        rows = _by_team(waiting)
    else:
        waiting = waiting.filter(faults=0)  # what fails here from now on is for the next claim, which knows it
    for priority, team in _ranked(worker.queue, [row[:3] for row in rows]):
        yield waiting.filter(priority=priority, team=team).order_by("queued_at", "pk")


def _by_team(waiting: QuerySet[Run]) -> list[tuple[int, int, datetime, int]]:
    """(priority, team, oldest, most faults) of each team's waiting runs."""
    rows = waiting.order_by().values_list("priority", "team")
    return list(rows.annotate(oldest=Min("queued_at"), most_faults=Max("faults")))


def _ranked(queue: Queue, rows: list[tuple[int, int, datetime]]) -> list[tuple[int, int]]:
    """(priority, team) in the order of turns, from (priority, team, oldest)."""
    teams = {team for _, team, _ in rows}
    running = Run.objects.filter(team__in=teams, state__in=HELD, fills_board=False)
    held = running.order_by().values_list("team").annotate(n=Count("*"))
    in_flight = dict(held)
    served = dict(TeamTurn.objects.filter(queue=queue, team__in=teams).values_list("team", "served_at"))
    cap = queue.max_in_flight_per_team
    if cap is not None:
        rows = [row for row in rows if in_flight.get(row[1], 0) < cap]

    def turn(row: tuple[int, int, datetime]) -> tuple[int, int, bool, datetime, datetime, int]:
        priority, team, oldest = row
        return -priority, in_flight.get(team, 0), team in served, served.get(team, oldest), oldest, team

    return [(priority, team) for priority, team, _ in sorted(rows, key=turn)]


def _fit_for(worker: ComputeWorker, waiting: QuerySet[Run]) -> QuerySet[Run]:
    """Those with a stage that a worker of this role may run."""
    if worker.role == ComputeWorker.Role.INGESTION:
        return waiting.filter(HAS_FIRST_STAGE, ingested_attempt=None).exclude(INSEPARABLE)
    if worker.role == ComputeWorker.Role.SCORING:
        return waiting.filter(~HAS_FIRST_STAGE | Q(ingested_attempt__isnull=False)).exclude(INSEPARABLE)
    return waiting


def _elsewhere_first(waiting: QuerySet[Run], worker: ComputeWorker, now: datetime) -> QuerySet[Run]:
    """Without the runs that failed on this worker by our fault, for as long as another worker may come for them."""
    here = Attempt.objects.filter(run=OuterRef("pk"), worker=worker, reason=Reason.INFRASTRUCTURE)
    others = [one for one in able_workers(worker.queue_id, now=now) if one.pk != worker.pk]
    with_gpu = [one.pk for one in others if one.gpu_count]
    patient = Q(faults__gt=0, not_before__gt=now - timedelta(seconds=ELSEWHERE_FIRST_S))
    fresh = Exists(_untried([one.pk for one in others]))
    fresh_with_gpu = Exists(_untried(with_gpu))
    return waiting.annotate(
        failed_here=Exists(here), other=Case(When(gpus=0, then=fresh), default=fresh_with_gpu)
    ).exclude(patient & Q(failed_here=True, other=True))


def _untried(workers: Iterable[int]) -> QuerySet[ComputeWorker]:
    """Of these workers, those on which the outer run has not failed."""
    failed = Attempt.objects.filter(run=OuterRef(OuterRef("pk")), worker=OuterRef("pk"), reason=Reason.INFRASTRUCTURE)
    return ComputeWorker.objects.filter(pk__in=list(workers)).exclude(Exists(failed))


def able_workers(queue_id: int, *, now: datetime) -> list[ComputeWorker]:
    """Workers of a queue that would take a run now: heard of lately, neither quarantined nor drained."""
    heard_of = now - timedelta(seconds=max(WORKER_SILENT_AFTER_S, settings.LEASE_S))
    return list(
        ComputeWorker.objects.filter(queue=queue_id, last_seen_at__gte=heard_of, quarantined_at=None, drained_at=None)
    )


def team_served(*, run: Run, now: datetime) -> None:
    """Remember that it was this team's turn. Call in the transaction that leased the run."""
    if run.fills_board:  # the board's turn, not the team's
        return
    turn = TeamTurn(team_id=run.team_id, queue=run.queue, served_at=now)
    TeamTurn.objects.bulk_create(
        [turn], update_conflicts=True, unique_fields=["team", "queue"], update_fields=["served_at"]
    )

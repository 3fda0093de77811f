"""The place of a waiting run in its queue, the workers that would take it, and when it may start."""

import math
import statistics
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Count, Exists, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from competitions.compute.launchers import expected_nodes
from competitions.compute.models import WORKER_SILENT_AFTER_S, ComputeWorker, Queue
from competitions.runs.accounting.gpu_hours import spent_competitions, without_competitions
from competitions.runs.accounting.usage import Month
from competitions.runs.models import Run, RunEvent, TeamTurn
from competitions.runs.queue.matching import able_workers
from competitions.runs.queue.ranking import WaitingTeam, hand_outs
from competitions.submissions.states import FINAL, HELD, State
from files.text import quantity

LATELY: Final = 50  # ended runs that the estimate is made of
ENOUGH: Final = 3
Z_90: Final = 1.645  # nine of ten starts fall into the interval, if run times scatter as they did


@dataclass(frozen=True)
class QueuePosition:
    """Position of a waiting run: `place` 1 is next; None while its competition has used up its GPU hours.

    `worker_seen_at`: when a worker of the queue was last heard from. `goes_on_at`: when the next GPU hours come, where there is
    no place.
    """

    place: int | None
    worker_seen_at: datetime | None
    goes_on_at: datetime | None = None

    def is_silent(self, now: datetime) -> bool:
        """No worker of the queue has been heard of lately."""
        return self.worker_seen_at is None or (now - self.worker_seen_at).total_seconds() > WORKER_SILENT_AFTER_S


def queue_positions(runs: Iterable[Run], *, now: datetime) -> dict[UUID, QueuePosition]:
    """Positions of the runs that wait, by run.

    At most three queries for each queue, five where GPU hours are used up.
    """
    by_queue: dict[Queue, list[Run]] = defaultdict(list)
    for run in runs:
        if run.state == State.QUEUED:
            by_queue[run.queue].append(run)
    return {
        pk: position for queue, queried in by_queue.items() for pk, position in _positions(queue, queried, now).items()
    }


def _positions(queue: Queue, queried: list[Run], now: datetime) -> dict[UUID, QueuePosition]:
    spent = spent_competitions(queue, now=now)
    teams, in_flight, worker_seen_at = _waiting_line(queue, spent)
    held_up = _held_up(queue, queried, spent)
    of_teams = _oldest_first(queue, [run for run in queried if run.pk not in held_up], teams, spent)
    sought = {run.pk for run in queried}
    positions = {pk: QueuePosition(None, worker_seen_at, Month.at(now).ends_at) for pk in held_up}
    for place, turn in enumerate(hand_outs(teams, in_flight, cap=queue.max_in_flight_per_team), start=1):
        if of_teams.get(turn):
            pk = of_teams[turn].popleft()
            if pk in sought:
                positions[pk] = QueuePosition(place, worker_seen_at)
        if len(positions) == len(sought):
            break
    return positions


def _held_up(queue: Queue, queried: list[Run], spent: frozenset[int]) -> set[UUID]:
    """The runs among these that wait for GPU hours of one of these competitions."""
    with_gpu = {run.pk for run in queried if run.gpus}
    if not with_gpu or not spent:
        return set()
    others = without_competitions(Run.objects.filter(pk__in=with_gpu), queue, spent)
    return with_gpu - set(others.values_list("pk", flat=True))


def _oldest_first(
    queue: Queue, queried: list[Run], waiting: list[WaitingTeam], spent: frozenset[int]
) -> dict[tuple[int, int], deque[UUID]]:
    """Waiting runs of the queried runs' teams, oldest first, by (team, priority).

    No query if the queried runs are all of them.
    """
    runs: Iterable[Run] = queried
    teams = {run.team_id for run in queried}
    if len(queried) != sum(each.runs for each in waiting if each.team in teams):
        waiting_runs = Run.objects.filter(queue=queue, state=State.QUEUED, team__in=teams)
        runs = without_competitions(waiting_runs, queue, spent).only("team", "priority", "queued_at")
    turns: dict[tuple[int, int], deque[UUID]] = defaultdict(deque)
    for run in sorted(runs, key=lambda run: (run.queued_at, run.pk)):
        turns[run.team_id, run.priority].append(run.pk)
    return turns


def _waiting_line(queue: Queue, spent: frozenset[int]) -> tuple[list[WaitingTeam], dict[int, int], datetime | None]:
    """A queue's waiting teams, their runs in flight, and when a worker was last heard from."""
    runs = Run.objects.filter(queue=queue, team=OuterRef("team"), priority=OuterRef("priority"), state=State.QUEUED)
    runs = without_competitions(runs, queue, spent)
    held = Run.objects.filter(team=OuterRef("team"), state__in=HELD, fills_board=False)
    workers = ComputeWorker.objects.filter(queue=queue, quarantined_at=None).order_by().values("queue")
    turns = TeamTurn.objects.filter(queue=queue, waiting_since__isnull=False).annotate(
        runs=_count(runs),
        in_flight=_count(held),
        worker_seen_at=Subquery(workers.annotate(at=Max("last_seen_at")).values("at")),
    )
    fields = ("team", "priority", "waiting_since", "served_at", "runs", "in_flight", "worker_seen_at")
    rows = [row for row in turns.values_list(*fields) if row[4]]
    in_flight = {row[0]: row[5] for row in rows}
    return [WaitingTeam(*row[:5]) for row in rows], in_flight, rows[0][6] if rows else None


def _count(runs: QuerySet[Run]) -> Coalesce:
    """The number of these runs, as an annotation of a team's turn."""
    return Coalesce(Subquery(runs.order_by().values("team").annotate(n=Count("*")).values("n")), 0)


def queue_wait(queue: Queue, place: int, *, now: datetime) -> tuple[float, float] | None:
    """Seconds until the run at this place starts, as a 90 % interval; None with too little data."""
    slots = sum(worker.slots for worker in able_workers(queue.pk, now=now) if not worker.is_silent(now))
    times = _recent_times(queue.pk)
    if queue.is_paused or not slots or len(times) < ENOUGH:
        return None
    held = Run.objects.filter(queue=queue, state__in=HELD).count()
    return expected_wait(place=place, slots=slots, held=held, times=times)


def expected_wait(*, place: int, slots: int, held: int, times: list[float]) -> tuple[float, float]:
    """Seconds until the start, as a 90 % interval.

    With all slots busy, the run starts at the k-th end of a run, k = place + held - slots; ends come `slots` at a time,
    the first on average half a run from now.

    >>> expected_wait(place=1, slots=2, held=1, times=[10.0, 10.0, 10.0])
    (0.0, 0.0)
    >>> expected_wait(place=1, slots=1, held=1, times=[10.0, 10.0, 10.0])
    (0.3, 9.7)
    """
    ends = place + min(held, slots) - slots
    if ends <= 0:
        return 0.0, 0.0
    mean, spread = statistics.fmean(times), statistics.pstdev(times)
    wait = (ends - 0.5) * mean / slots
    # A run that goes on already has a random part left, as if uniform: mean²/12; each further one adds its own scatter.
    deviation = math.sqrt(mean**2 / 12 + (ends - 1) * spread**2) / slots
    return round(max(0.0, wait - Z_90 * deviation), 1), round(wait + Z_90 * deviation, 1)


def unserved_queues(now: datetime) -> Iterator[str]:
    """For the site's health. Everybody reads it, so no queue is named: they may be organizers' own."""
    if queues := queues_without_worker(now):
        yield f"workers: runs wait on {quantity(len(queues), 'queue')} with no worker that responds"


def queues_without_worker(now: datetime) -> list[Queue]:
    """Queues with waiting runs, no worker that responds and no node to come; not those that are paused."""
    heard = now - timedelta(seconds=WORKER_SILENT_AFTER_S)
    waiting = TeamTurn.objects.filter(queue=OuterRef("pk"), waiting_since__lt=heard)
    workers = ComputeWorker.objects.filter(queue=OuterRef("pk"), last_seen_at__gte=heard)
    queues = list(Queue.objects.filter(Exists(waiting), ~Exists(workers), is_paused=False))
    coming = expected_nodes(queues, now=now) if queues else {}
    return [queue for queue in queues if queue.pk not in coming]


def _recent_times(queue_id: int) -> list[float]:
    """Seconds from hand-out to end of the queue's last runs."""
    leased = RunEvent.objects.filter(run=OuterRef("run"), attempt=OuterRef("attempt"), target=State.LEASED)
    ended = RunEvent.objects.filter(run__queue=queue_id, target__in=FINAL).exclude(
        source__in=(State.CHECKING, State.UNSTARTED, State.QUEUED)
    )
    rows = ended.annotate(leased_at=Subquery(leased.order_by("-pk").values("at")[:1])).order_by("-pk")
    return [(at - since).total_seconds() for at, since in rows.values_list("at", "leased_at")[:LATELY] if since]

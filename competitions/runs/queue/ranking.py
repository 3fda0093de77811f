"""The order in which a queue hands out its runs: one answer for dispatch, pages, API and command line.

Next is the highest priority; of its teams the one with the fewest runs in flight; of those the one that was served longest ago,
where never comes first; then the one that has waited longest. Within a team the oldest run is next. A team at the queue's
cap waits until one of its runs has ended.

`hand_outs` is that order as a pure function. `next_teams` asks the database for its first teams alone, by an index, so that a
claim costs the same however many runs wait.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count, groupby, takewhile
from typing import Final

from django.db import transaction
from django.db.models import Count, Exists, F, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from competitions.compute.models import Queue
from competitions.compute.wakeups import wake
from competitions.runs.models import FILLING_PRIORITY, NEVER, Run, RunEvent, TeamTurn
from competitions.submissions.states import HELD, State
from core.background.jobs import after_commit

CANDIDATES: Final = 20  # idle teams that one claim looks at; other claims may hold the first ones' runs


@dataclass(frozen=True)
class WaitingTeam:
    """A team's waiting runs of one priority. `served_at` is `NEVER` for a team that had no turn yet."""

    team: int
    priority: int
    waiting_since: datetime
    served_at: datetime
    runs: int


def hand_outs(
    waiting: Iterable[WaitingTeam], in_flight: Mapping[int, int], *, cap: int | None = None
) -> Iterator[tuple[int, int]]:
    """(team, priority) of every run in hand-out order, as if no run ended and none arrived.

    Runs above a team's cap come last. Runs that fill a board take no turn and do not count as in flight.
    """
    flying, last_turn, turn = Counter(dict(in_flight)), Counter[int](), count(1)

    def entry(line: WaitingTeam, left: int) -> tuple[int, int, datetime, datetime, int, int, WaitingTeam]:
        team = line.team
        return flying[team], last_turn[team], line.served_at, line.waiting_since, team, left, line

    held_back: list[tuple[int, int]] = []
    for _, lines in groupby(sorted(waiting, key=lambda line: -line.priority), key=lambda line: line.priority):
        heap = [entry(line, line.runs) for line in lines]
        heapq.heapify(heap)
        while heap:
            *_, team, left, line = heapq.heappop(heap)
            if cap is not None and flying[team] >= cap:
                held_back += [(team, line.priority)] * left
                continue
            yield team, line.priority
            if line.priority != FILLING_PRIORITY:
                flying[team] += 1
                last_turn[team] = next(turn)
            if left > 1:
                heapq.heappush(heap, entry(line, left - 1))
    yield from held_back


def next_teams(queue: Queue, fitting: QuerySet[Run]) -> Iterator[tuple[int, int]]:
    """(team, priority) in hand-out order, of teams with a fitting run and below the queue's cap.

    Only the first `CANDIDATES` teams without a run in flight are named; those with one are as few as there are slots.
    """
    in_flight = runs_in_flight()
    cap = queue.max_in_flight_per_team
    runs = fitting.filter(team=OuterRef("team"), priority=OuterRef("priority")).order_by("queued_at", "pk")
    # A scalar, as PostgreSQL joins `Exists` with all runs where a few teams have most of them.
    next_run = Subquery(runs.values("pk")[:1])
    waiting = TeamTurn.objects.filter(queue=queue, waiting_since__isnull=False)
    lines = waiting.alias(next_run=next_run).filter(next_run__isnull=False)
    fields = ("team", "priority", "waiting_since", "served_at")
    idle = lines.exclude(team__in=in_flight).order_by("-priority", "served_at", "waiting_since", "team")
    rows = list(idle.values_list(*fields)[:CANDIDATES])
    if busy := [team for team, runs in in_flight.items() if cap is None or runs < cap]:
        rows += lines.filter(team__in=busy).values_list(*fields)
    ranked = sorted((-priority, in_flight[team], served, since, team) for team, priority, since, served in rows)
    return ((key[-1], -key[0]) for key in ranked)


def runs_in_flight() -> Counter[int]:
    """The number of runs that each team has on workers, without those that fill a board."""
    held = Run.objects.filter(state__in=HELD, fills_board=False)
    return Counter(dict(held.order_by().values_list("team").annotate(n=Count("*"))))


def enter_queue(runs: QuerySet[Run], *, now: datetime) -> None:
    """Give the teams of these waiting runs a turn, and wake the workers after the commit.

    Call it in the transaction that queued them. The rows stay locked until then, so a claim that finds a team's last
    run gone decides afterwards if the team still waits.
    """
    lines = set(runs.filter(state=State.QUEUED).order_by().values_list("queue", "queue__name", "team", "priority"))
    for queue, _, team, priority in sorted(lines):
        turns = _locked_turns(queue, team)
        if not turns.filter(priority=priority).update(waiting_since=Coalesce(F("waiting_since"), now)):
            served = turns.aggregate(at=Coalesce(Max("served_at"), NEVER), before=Coalesce(Max("served_before"), NEVER))
            turn = TeamTurn(
                queue_id=queue,
                team_id=team,
                priority=priority,
                served_at=served["at"],
                served_before=served["before"],
                waiting_since=now,
            )
            TeamTurn.objects.bulk_create([turn], ignore_conflicts=True)
    for name in {name for _, name, _, _ in lines}:
        after_commit(wake, Queue(name=name).wakeup_queue)


def take_turn(run: Run, *, now: datetime) -> None:
    """Remember that it was this team's turn. Call in the transaction that leased the run."""
    turns = TeamTurn.objects.filter(queue=run.queue, team=run.team_id)
    of_priority = turns.filter(priority=run.priority)
    if run.fills_board:  # the board's turn, not the team's
        list(of_priority.select_for_update())
    else:  # locks the rows as well, in their order; see `enter_queue`
        in_order = turns.order_by("priority").select_for_update()
        turns.filter(pk__in=in_order.values("pk")).update(served_before=F("served_at"), served_at=now)
    waiting = Run.objects.filter(queue=run.queue, team=run.team_id, priority=run.priority, state=State.QUEUED)
    of_priority.exclude(Exists(waiting)).update(waiting_since=None)  # locked by now, so it sees what was queued before


def give_turn_back(run: Run) -> None:
    """Forget the turn that a run took which never started, unless its team had another one since.

    Else a team whose runs are claimed ahead, and given back because the one before took long, would lose turn after turn.
    """
    if not run.fills_board:
        taken = RunEvent.objects.filter(run=run, target=State.LEASED).order_by("-pk").values("at")[:1]
        turns = _locked_turns(run.queue_id, run.team_id)
        turns.filter(served_at=Subquery(taken)).update(served_at=F("served_before"))


def _locked_turns(queue: int, team: int) -> QuerySet[TeamTurn]:
    """Lock a team's turns on a queue, in order of priority to avoid deadlocks."""
    turns = TeamTurn.objects.filter(queue=queue, team=team)
    list(turns.order_by("priority").select_for_update().values_list("pk"))
    return turns


def turns_repair(*, now: datetime) -> int:
    """For the reconciler: give every waiting team a turn and drop all others; returns how many changed."""
    waiting = Run.objects.filter(state=State.QUEUED)
    line = {"queue": OuterRef("queue"), "team": OuterRef("team"), "priority": OuterRef("priority")}
    lacking = waiting.exclude(Exists(TeamTurn.objects.filter(waiting_since__isnull=False, **line)))
    changed = len(set(lacking.order_by().values_list("queue", "team", "priority")))
    if changed:
        with transaction.atomic():
            enter_queue(lacking, now=now)
    over = TeamTurn.objects.filter(waiting_since__isnull=False).exclude(Exists(waiting.filter(**line)))
    for pk in list(over.values_list("pk", flat=True)):
        with transaction.atomic():
            turn = TeamTurn.objects.select_for_update().filter(pk=pk)
            held = turn.first()
            if held and not waiting.filter(queue=held.queue_id, team=held.team_id, priority=held.priority).exists():
                changed += turn.update(waiting_since=None)
    return changed


def wake_waiting_queues(*, now: datetime) -> int:
    """Wake the workers of every queue with waiting runs, in case a wake-up was lost.

    Stops at the first wake-up that the broker refuses: each would wait for its time-out and hold up the round.
    """
    waiting = Run.objects.filter(queue=OuterRef("pk"), state=State.QUEUED, not_before__lte=now)
    queues = Queue.objects.filter(Exists(waiting), is_paused=False)
    return sum(1 for _ in takewhile(lambda queue: wake(queue.wakeup_queue), queues))

"""Where a waiting run stands and when it may start: an estimate with an interval, from what its queue did lately."""

import math
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import OuterRef, Subquery

from competitions.submissions.models import Run, RunEvent, TeamTurn
from competitions.submissions.queueing import able_workers
from competitions.submissions.states import FINAL, HELD, State

LATELY: Final = 50  # ended runs that the estimate is made of
ENOUGH: Final = 3
Z_90: Final = 1.645  # nine of ten starts fall into the interval, if run times scatter as they did
MAX_COUNTED: Final = 5000


@dataclass(frozen=True)
class Outlook:
    """`place` 1 is next, in the order of fair turns. The seconds are None while there is too little to go by."""

    place: int
    earliest_s: float | None = None
    latest_s: float | None = None


def fair_places(queue_id: int) -> dict[UUID, int]:
    """Places of a queue's waiting runs, as turns would go if nothing else came: three queries, the first 5000 runs."""
    waiting = Run.objects.filter(queue=queue_id, state=State.QUEUED).order_by("-priority", "queued_at", "pk")
    rows = list(waiting.values_list("pk", "team", "priority", "queued_at")[:MAX_COUNTED])
    running = Run.objects.filter(team__in={row[1] for row in rows}, state__in=HELD, fills_board=False)
    in_flight = Counter(running.values_list("team", flat=True))
    served = dict(TeamTurn.objects.filter(queue=queue_id).values_list("team", "served_at"))
    turns: dict[tuple[int, int], int] = defaultdict(int)
    keys = []
    for pk, team, priority, queued_at in rows:
        level = in_flight[team] + turns[team, priority]
        turns[team, priority] += 1
        keys.append((-priority, level, served[team].timestamp() if team in served else 0.0, queued_at, pk))
    return {key[-1]: place for place, key in enumerate(sorted(keys), start=1)}


def outlook_of(run: Run, *, now: datetime) -> Outlook:
    """Place and expected start of a waiting run."""
    place = fair_places(run.queue_id).get(run.pk, MAX_COUNTED)
    slots = sum(worker.slots for worker in able_workers(run.queue_id, now=now))
    held = Run.objects.filter(queue=run.queue_id, state__in=HELD).count()
    times = _recent_times(run.queue_id)
    if run.queue.is_paused or not slots or len(times) < ENOUGH:
        return Outlook(place)
    earliest, latest = expected_wait(place=place, slots=slots, held=held, times=times)
    return Outlook(place, earliest, latest)


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


def _recent_times(queue_id: int) -> list[float]:
    """Seconds from hand-out to end of the queue's last runs."""
    leased = RunEvent.objects.filter(run=OuterRef("run"), attempt=OuterRef("attempt"), target=State.LEASED)
    ended = RunEvent.objects.filter(run__queue=queue_id, target__in=FINAL).exclude(
        source__in=(State.CHECKING, State.QUEUED)
    )
    rows = ended.annotate(leased_at=Subquery(leased.order_by("-pk").values("at")[:1])).order_by("-pk")
    return [(at - since).total_seconds() for at, since in rows.values_list("at", "leased_at")[:LATELY] if since]

"""GPU hours a month of a competition on a queue: who has used them up, what waits, who is told.

A competition that has used them up starts no further run with a GPU until the next month, or until it is given more. What
runs goes on to its end, and what waits keeps its place. What is only to be scored is not held up.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import structlog
from django.db.models import Q, QuerySet
from django.urls import reverse

from competitions.catalog.models import Competition
from competitions.compute.models import Queue
from competitions.notifications.models import Kind
from competitions.notifications.services import notify, was_told
from competitions.runs.accounting.usage import Month, slots_in, use_by
from competitions.runs.models import GpuHours, Run
from core.reconciler import run_guarded
from workers.protocol.plan import Needs

log = structlog.get_logger(__name__)
NOTHING_IS_LOST: Final = "Nothing is lost: what runs goes on to its end, and what waits keeps its place."
WARNED_AT: Final = 0.8  # of the hours
MOST_HOURS: Final = 1_000_000


@dataclass(frozen=True)
class GpuAllowance:
    """GPU hours of a competition in a month: `used` of `given`; None: no limit."""

    used: float
    given: int | None

    @property
    def is_spent(self) -> bool:
        return self.given is not None and self.used >= self.given

    @property
    def is_nearly_spent(self) -> bool:
        """True from four fifths on."""
        return self.given is not None and self.used >= WARNED_AT * self.given

    def spent_at(self, now: datetime) -> datetime | None:
        """The instant at which it is spent at the month's pace so far; None if not in this month."""
        begins_at, ends_at = Month.at(now).begins_at, Month.at(now).ends_at
        if self.given is None or self.used <= 0 or self.is_spent:
            return None
        at = begins_at + (now - begins_at) * (self.given / self.used)
        return at if at < ends_at else None


def allowances(queue: Queue, *, now: datetime) -> dict[int, GpuAllowance]:
    """This month's allowance of each competition with a limit on this queue.

    Those that have used nothing are only there where their number is their own. Two queries; one without any limit.
    """
    own = dict(GpuHours.objects.filter(queue=queue).values_list("competition", "hours"))
    if not own and queue.gpu_hours_per_competition is None:
        return {}
    with_gpus = slots_in(Month.at(now), now=now).filter(queue=queue, gpus__gt=0, competition__isnull=False)
    if queue.gpu_hours_per_competition is None:
        with_gpus = with_gpus.filter(competition__in=list(own))
    used = {competition: use.gpu_hours for (competition,), use in use_by(with_gpus, "competition").items()}
    return {
        competition: GpuAllowance(used.get(competition, 0.0), own.get(competition, queue.gpu_hours_per_competition))
        for competition in {*own, *used}
    }


def allowance(competition: Competition, *, now: datetime) -> GpuAllowance:
    """The GPU hours of a competition on its own queue in this month, whether or not they are limited."""
    limited = allowances(competition.queue, now=now).get(competition.pk)
    return limited or GpuAllowance(0.0, competition.queue.gpu_hours_per_competition)


def spent_competitions(queue: Queue, *, now: datetime) -> frozenset[int]:
    """The competitions that have used up their GPU hours of this month on a queue."""
    return frozenset(competition for competition, each in allowances(queue, now=now).items() if each.is_spent)


def within_gpu_hours(runs: QuerySet[Run], queue: Queue, *, now: datetime) -> QuerySet[Run]:
    """Leave out the runs of the queue whose competition has used up its GPU hours."""
    return without_competitions(runs, queue, spent_competitions(queue, now=now))


def without_competitions(runs: QuerySet[Run], queue: Queue, spent: frozenset[int]) -> QuerySet[Run]:
    """Leave out the runs of the queue that need a GPU for these competitions."""
    if not spent:
        return runs
    needs_gpu = Q(queue=queue, gpus__gt=0) & ~Q(needs=Needs.SCORING)
    return runs.exclude(needs_gpu & Q(submission__phase__competition__in=spent))


def give_gpu_hours(queue: Queue, competition: Competition, hours: int | None) -> None:
    """Give a competition its own number of GPU hours a month on a queue; None: the queue's number again."""
    if hours is None:
        GpuHours.objects.filter(queue=queue, competition=competition).delete()
        return
    GpuHours.objects.update_or_create(queue=queue, competition=competition, defaults={"hours": hours})


def warn_of_gpu_hours(*, now: datetime) -> int:
    """For the reconciler: tell organizers at four fifths of the GPU hours, and when they are used up.

    Returns how many were told. More hours than before warn again.
    """
    limited = Queue.objects.filter(Q(gpu_hours_per_competition__isnull=False) | Q(gpu_hours__isnull=False)).distinct()
    return sum(run_guarded("gpu_hours_told", partial(_warn_on, queue), now=now) for queue in limited)


def _warn_on(queue: Queue, *, now: datetime) -> int:
    low = {pk: each for pk, each in allowances(queue, now=now).items() if each.is_nearly_spent and each.given}
    competitions = Competition.objects.in_bulk(low)
    return sum(
        run_guarded("gpu_hours_told", partial(_warn, competitions[pk], queue, each), now=now)
        for pk, each in sorted(low.items())
    )


def _warn(competition: Competition, queue: Queue, allowance: GpuAllowance, *, now: datetime) -> int:
    month, level = Month.at(now), "spent" if allowance.is_spent else "low"
    event = f"gpu-hours:{competition.pk}:{queue.pk}:{month}:{allowance.given}:{level}"
    if was_told(event):
        return 0
    log.warning("gpu_hours_run_out", competition=competition.slug, queue=queue.name, level=level)
    return notify(
        people=competition.organizers.all(),
        kind=Kind.GPU_HOURS,
        competition=competition,
        subject=_subject(competition, allowance, month),
        text=f"{_consequences(allowance, month, now)} {NOTHING_IS_LOST} {_who_gives_more(queue)}",
        path=reverse("organize:overview", args=[competition.slug]),
        event=event,
    )


def _subject(competition: Competition, allowance: GpuAllowance, month: Month) -> str:
    if allowance.is_spent:
        return f"{competition} has used up its {allowance.given} GPU hours of {month.title}"
    return f"{competition} has used {allowance.used:.0f} of its {allowance.given} GPU hours of {month.title}"


def _consequences(allowance: GpuAllowance, month: Month, now: datetime) -> str:
    goes_on = f"{month.ends_at:%-d %B}"
    if allowance.is_spent:
        return f"Runs with a GPU wait from now on and start on {goes_on} (UTC)."
    spent_at = allowance.spent_at(now)
    pace = (
        f"At this pace they are used up on {spent_at:%-d %B}." if spent_at else "At this pace they last for the month."
    )
    return f"{pace} Once they are, runs with a GPU wait until {goes_on} (UTC)."


def _who_gives_more(queue: Queue) -> str:
    contact = f" ({queue.contact})" if queue.contact else ""
    return f"Whoever runs the queue {queue.name}{contact} can give more."

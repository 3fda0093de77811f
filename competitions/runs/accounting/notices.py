"""Notices to organizers whose competition runs out of GPU hours."""

from datetime import datetime

import structlog
from django.db.models import Q
from django.urls import reverse

from competitions.catalog.models import Competition
from competitions.compute.models import Queue
from competitions.notifications.models import Kind
from competitions.notifications.services import notify, was_told
from competitions.runs.accounting.gpu_hours import GpuAllowance, allowances
from competitions.runs.accounting.usage import Month

log = structlog.get_logger(__name__)
NOTHING_IS_LOST = "Nothing is lost: what runs goes on to its end, and what waits keeps its place."


def warn_of_gpu_hours(*, now: datetime) -> int:
    """For the reconciler: tell organizers at four fifths of the GPU hours, and when they are used up.

    Returns how many were told. More hours than before warn again.
    """
    limited = Queue.objects.filter(Q(gpu_hours_per_competition__isnull=False) | Q(gpu_hours__isnull=False)).distinct()
    return sum(_warn_on(queue, now) for queue in limited)


def _warn_on(queue: Queue, now: datetime) -> int:
    low = {pk: each for pk, each in allowances(queue, now=now).items() if each.is_nearly_spent and each.given}
    competitions = Competition.objects.in_bulk(low)
    return sum(_warn(competitions[pk], queue, each, now) for pk, each in sorted(low.items()))


def _warn(competition: Competition, queue: Queue, allowance: GpuAllowance, now: datetime) -> int:
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
        text=f"{_outlook(allowance, month, now)} {NOTHING_IS_LOST} {_who_gives_more(queue)}",
        path=reverse("organize:overview", args=[competition.slug]),
        event=event,
    )


def _subject(competition: Competition, allowance: GpuAllowance, month: Month) -> str:
    if allowance.is_spent:
        return f"{competition} has used up its {allowance.given} GPU hours of {month.title}"
    return f"{competition} has used {allowance.used:.0f} of its {allowance.given} GPU hours of {month.title}"


def _outlook(allowance: GpuAllowance, month: Month, now: datetime) -> str:
    goes_on = f"{month.ends_at:%-d %B}"
    if allowance.is_spent:
        return f"Runs with a GPU wait from now on and start from {goes_on} (UTC) on."
    spent_at = allowance.spent_at(now)
    pace = (
        f"At this pace they are used up on {spent_at:%-d %B}." if spent_at else "At this pace they last for the month."
    )
    return f"{pace} Once they are, runs with a GPU wait until {goes_on} (UTC)."


def _who_gives_more(queue: Queue) -> str:
    contact = f" ({queue.contact})" if queue.contact else ""
    return f"Whoever runs the queue {queue.name}{contact} can give more."

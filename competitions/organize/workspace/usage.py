"""The cost of compute in a month: a queue's for whoever runs it, a competition's for its organizers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from django.db.models import QuerySet

from competitions.catalog.models import Competition
from competitions.compute.models import Queue
from competitions.runs.accounting.gpu_hours import GpuAllowance, allowance, allowances
from competitions.runs.accounting.usage import (
    ClusterUse,
    Month,
    Use,
    UseRow,
    cluster_use,
    slots_in,
    use_rows,
    waiting_times,
)
from competitions.runs.models import GpuHours, SlotUse

MOST_ROWS: Final = 20  # of phases and teams; the CSV has all
MOST_COMPETITIONS: Final = 100


@dataclass(frozen=True)
class CompetitionUse:
    """A competition on a queue: its use, what is left of its GPU hours, and its own number of them."""

    competition: Competition
    use: Use
    allowance: GpuAllowance | None
    own_hours: int | None


@dataclass(frozen=True)
class MonthlyUsage:
    """The use of one month. `later` is None in the present one; `spent_at`: see `GpuAllowance`."""

    month: Month
    later: Month | None
    total: Use
    waits: Sequence[tuple[int, float]]
    phases: Sequence[UseRow]
    teams: Sequence[UseRow]
    more_teams: int = 0
    cluster: ClusterUse | None = None
    competitions: Sequence[CompetitionUse] = field(default=())
    allowance: GpuAllowance | None = None
    spent_at: datetime | None = None


def _monthly(slots: QuerySet[SlotUse], month: Month, now: datetime, *, of_competitions: bool = False) -> MonthlyUsage:
    """The use of one competition, or of several, whose phases and teams may have the same names."""
    names = ("name", "competition__title") if of_competitions else ("name",)
    teams, phases = (use_rows(slots, field, *(f"{field}__{name}" for name in names)) for field in ("team", "phase"))
    return MonthlyUsage(
        month=month,
        later=month.after if month < Month.at(now) else None,
        total=sum((row.use for row in phases), Use()),
        waits=waiting_times(slots),
        phases=phases,
        teams=teams[:MOST_ROWS],
        more_teams=max(len(teams) - MOST_ROWS, 0),
    )


def queue_usage(queue: Queue, month: Month, *, now: datetime) -> MonthlyUsage:
    """The use of all on a queue, most first; in the present month also those without any."""
    slots = slots_in(month, now=now).filter(queue=queue)
    usage = _monthly(slots, month, now, of_competitions=True)
    return replace(
        usage,
        phases=usage.phases[:MOST_ROWS],
        cluster=cluster_use(queue, month, now=now),
        competitions=_competitions(queue, use_rows(slots, "competition", "competition__title"), month, now),
    )


def _competitions(queue: Queue, used: Sequence[UseRow], month: Month, now: datetime) -> list[CompetitionUse]:
    uses = {row.key: row.use for row in used if row.key is not None}
    own = dict(GpuHours.objects.filter(queue=queue).values_list("competition", "hours"))
    is_present = month == Month.at(now)
    left = allowances(queue, now=now) if is_present else {}
    rows = dict(Competition.objects.in_bulk(uses))
    if is_present:
        rows |= {
            each.pk: each for each in Competition.objects.filter(queue=queue).order_by("title")[:MOST_COMPETITIONS]
        }
    shown = [
        CompetitionUse(competition=competition, use=uses.get(pk, Use()), allowance=left.get(pk), own_hours=own.get(pk))
        for pk, competition in rows.items()
    ]
    return sorted(shown, key=lambda row: (-row.use.gpu_hours, -row.use.hours, row.competition.title))


def competition_usage(competition: Competition, month: Month, *, now: datetime) -> MonthlyUsage:
    """The use of one competition, on whichever queues."""
    usage = _monthly(slots_in(month, now=now).filter(competition=competition), month, now)
    if month != Month.at(now):
        return usage
    left = allowance(competition, now=now)
    return replace(usage, allowance=left if left.given is not None else None, spent_at=left.spent_at(now))

"""How many submissions a team has left, and when it gets more. Days and weeks are UTC; weeks begin on Monday."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q

from competitions.catalog.models import Phase
from competitions.submissions.models import Submission


@dataclass(frozen=True)
class Allowance:
    """One limit of a phase as it stands for one team."""

    period: str  # as in a sentence: "of today", "of this week", "of this phase"
    limit: int
    used: int
    resets_at: datetime | None  # None: never

    @property
    def left(self) -> int:
        return max(self.limit - self.used, 0)


def day_began_at(now: datetime) -> datetime:
    """Midnight before the instant, UTC."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def week_began_at(now: datetime) -> datetime:
    """The midnight that began the instant's Monday, UTC."""
    midnight = day_began_at(now)
    return midnight - timedelta(days=midnight.weekday())


def allowances(*, team_id: int, phase: Phase, now: datetime) -> list[Allowance]:
    """Every limit that the phase sets, narrowest first, in one query; an empty list means unlimited."""
    midnight, monday = day_began_at(now), week_began_at(now)
    charged = Submission.objects.filter(team=team_id, phase=phase, is_charged=True)
    counts = charged.aggregate(
        day=Count("pk", filter=Q(received_at__gte=midnight)), week=Count("pk", filter=Q(received_at__gte=monday)), total=Count("pk"),
    )  # fmt: skip
    periods: list[tuple[int | None, str, int, datetime | None]] = [
        (phase.max_submissions_per_day, "of today", counts["day"], midnight + timedelta(days=1)),
        (phase.max_submissions_per_week, "of this week", counts["week"], monday + timedelta(days=7)),
        (phase.max_submissions, "of this phase", counts["total"], None),
    ]
    return [
        Allowance(period, limit, count, resets_at) for limit, period, count, resets_at in periods if limit is not None
    ]

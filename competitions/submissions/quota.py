"""How many submissions a team has left, and when it gets more. Days and weeks are UTC; weeks begin on Monday."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from competitions.catalog.models import Phase
from competitions.submissions.models import Submission
from competitions.teams.models import Team


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


def allowances(*, team: Team, phase: Phase, now: datetime) -> list[Allowance]:
    """Every limit that the phase sets, narrowest first; an empty list means unlimited."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = midnight - timedelta(days=midnight.weekday())
    periods: list[tuple[int | None, str, datetime | None, datetime | None]] = [
        (phase.max_submissions_per_day, "of today", midnight, midnight + timedelta(days=1)),
        (phase.max_submissions_per_week, "of this week", monday, monday + timedelta(days=7)),
        (phase.max_submissions, "of this phase", None, None),
    ]
    charged = Submission.objects.filter(team=team, phase=phase, is_charged=True)
    return [
        Allowance(period, limit, (charged.filter(received_at__gte=since) if since else charged).count(), resets_at)
        for limit, period, since, resets_at in periods
        if limit is not None
    ]

"""Effects of a change of a phase on existing submissions and on those still allowed."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final

from django.db.models import Count

from competitions.catalog.changes.change import impact_check
from competitions.catalog.models import Phase
from competitions.submissions.models import Submission
from competitions.submissions.quota import week_began_at
from competitions.submissions.states import Kind
from core.clock import day_began_at
from files.text import quantity

ACCEPTS: Final = (
    ("accepts_predictions", Kind.PREDICTION),
    ("accepts_code", Kind.CODE),
    ("accepts_datasets", Kind.DATASET),
)


@impact_check(Phase)
def submissions_fall_outside(phase: Phase, changes: Mapping[str, object], now: datetime) -> Iterator[str]:
    submissions = Submission.objects.filter(phase=phase)
    closes_at = changes.get("closes_at")
    if closes_at is not None and (late := submissions.filter(received_at__gte=closes_at, is_late=False).count()):
        yield f"{quantity(late, 'submission')} came after the new end. They were in time when they came and stay as they are."
    if "tasks" in changes and (count := submissions.count()):
        yield f"{quantity(count, 'submission')} ran on the present tasks. They keep their scores; run them again to compare with new ones."
    for name, kind in ACCEPTS:
        if changes.get(name) is False and (count := submissions.filter(kind=kind).count()):
            yield f"{quantity(count, 'submission')} of {kind.label} were made; no more would be accepted."


# A quota, how the form's sentence names its period, and since when submissions count for it; None: since ever.
LIMITS: Final[tuple[tuple[str, str, str, Callable[[Phase, datetime], datetime] | None], ...]] = (
    ("max_submissions_per_day", "a day", "today", lambda phase, now: day_began_at(now)),
    ("max_submissions_per_week", "a week", "this week", week_began_at),
    ("max_submissions", "in total", "in total", None),
)


@impact_check(Phase)
def quotas_shrink(phase: Phase, changes: Mapping[str, int | None], now: datetime) -> Iterator[str]:
    """Every smaller quota is said: teams planned with the former one, whether they have used it up or not."""
    for name, each, period, began_at in LIMITS:
        before, after = getattr(phase, name), changes.get(name)
        if after is None or (before is not None and before <= after):
            continue
        yield f"The quota per team shrinks from {'unlimited' if before is None else before} to {after} {each}."
        over = _teams_that_used(phase, after, began_at(phase, now) if began_at else None)
        if over:
            yield f"{quantity(over, 'team')} used {after} or more {period} and could submit no more."


def _teams_that_used(phase: Phase, limit: int, since: datetime | None) -> int:
    """The number of teams that made at least so many charged submissions since then."""
    charged = Submission.objects.filter(phase=phase, is_charged=True)
    counted = charged if since is None else charged.filter(received_at__gte=since)
    return counted.order_by().values("team").annotate(used=Count("pk")).filter(used__gte=limit).count()

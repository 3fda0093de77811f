"""The timeline of a competition, and the date that matters next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from competitions.catalog.models import Phase


@dataclass(frozen=True)
class TimelineStep:
    """A phase on the timeline: past, current or coming, the part that is over, and its next date."""

    name: str
    state: str
    percent: int
    word: str
    at: datetime | None


@dataclass(frozen=True)
class Deadline:
    """The next date that changes what one can do: a phase that closes or opens."""

    phase: Phase
    verb: str
    at: datetime
    is_near: bool = False  # a close within a day


def timeline(phases: Sequence[Phase], now: datetime) -> list[TimelineStep]:
    """Every phase in its order."""
    return [_step(phase, now) for phase in phases]


def _step(phase: Phase, now: datetime) -> TimelineStep:
    if now < phase.opens_at:
        return TimelineStep(phase.name, "coming", 0, "opens", phase.opens_at)
    if phase.closes_at is None:
        return TimelineStep(phase.name, "now", 100, "open, no end date", None)
    if phase.closes_at <= now:
        return TimelineStep(phase.name, "past", 100, "closed", phase.closes_at)
    percent = round(100 * ((now - phase.opens_at) / (phase.closes_at - phase.opens_at)))
    return TimelineStep(phase.name, "now", percent, "closes", phase.closes_at)


def next_deadline(phases: Sequence[Phase], now: datetime) -> Deadline | None:
    """The first close of an open phase; while none is open, the next opening."""
    closing = [
        Deadline(phase, "closes", phase.closes_at, is_near=phase.closes_at - now < timedelta(days=1))
        for phase in phases
        if phase.closes_at and phase.is_open(now)
    ]
    opening = [Deadline(phase, "opens", phase.opens_at) for phase in phases if now < phase.opens_at]
    return min(closing or opening, key=lambda deadline: deadline.at, default=None)

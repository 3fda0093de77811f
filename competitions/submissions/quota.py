"""Submissions that a team has left, and when it gets more; days and weeks are in UTC.

Weeks begin on Monday.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db.models import Count, Q, Sum

from competitions.catalog.models import Phase, Week
from competitions.environments.services import TeamRoom
from competitions.resources.models import StoredFile
from competitions.submissions.models import Submission
from competitions.submissions.refusals import TEAM_STORAGE_USED, TOO_MANY_SCORING_ERRORS, TOO_MANY_SMOKE_RUNS
from competitions.submissions.states import NOT_RUN, Reason
from competitions.teams.models import Team
from core.clock import day_began_at, monday_began_at

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
# What a limit is about, in a sentence and briefly.
PERIODS: Final = {
    "day": "for today",
    Week.CALENDAR: "for this week",
    Week.SLIDING: "for the last seven days",
    "total": "for this phase",
}
BRIEFLY: Final = {"day": "today", Week.CALENDAR: "this week", Week.SLIDING: "this week", "total": "in all"}


@dataclass(frozen=True)
class Allowance:
    """One limit of a phase as it stands for one team."""

    period: str  # as in a sentence: "for today", "for this week", "for this phase"
    limit: int
    used: int
    resets_at: datetime | None = None  # None: never while the phase takes submissions, or not asked

    @property
    def left(self) -> int:
        return max(self.limit - self.used, 0)


def week_began_at(phase: Phase, now: datetime) -> datetime:
    """Start of the week that submissions count for: midnight on Monday, UTC, or seven days ago."""
    if phase.quota_week == Week.SLIDING:
        return now - WEEK + timedelta(microseconds=1)  # what is a week old counts no longer
    return monday_began_at(now)


def allowances(*, team_id: int, phase: Phase, now: datetime) -> list[Allowance]:
    """Every limit that the phase sets, narrowest first; empty means unlimited.

    One query, two where a week slides, and none without a limit; only what a limit is about is counted. `now` may lie before midnight while
    others of the team submit after it: an upload counts for the day on which it began.
    """
    limits, used = _limits(phase), _used({phase: team_id}, now).get(phase.pk, {})
    ends: dict[str, datetime | None] = {"day": day_began_at(now) + DAY}
    if phase.quota_week in limits:
        ends[phase.quota_week] = _week_ends_at(phase, team_id, now)
    return [
        Allowance(PERIODS[span], limit, used.get(span, 0), _while_taken(phase, ends.get(span)))
        for span, limit in limits.items()
    ]


def _while_taken(phase: Phase, resets_at: datetime | None) -> datetime | None:
    """The instant, unless the phase takes no submissions by then."""
    ends_first = resets_at and phase.closes_at and phase.closes_at <= resets_at and not phase.accepts_late
    return None if ends_first else resets_at


def _limits(phase: Phase) -> dict[str, int]:
    """The limits that the phase sets, by what they are about, narrowest first."""
    limits = {
        "day": phase.max_submissions_per_day,
        phase.quota_week: phase.max_submissions_per_week,
        "total": phase.max_submissions,
    }
    return {span: limit for span, limit in limits.items() if limit is not None}


def _counts_since(phase: Phase, now: datetime) -> datetime | None:
    """The instant from which submissions count for any limit of a phase; None where all do."""
    if phase.max_submissions is not None:
        return None
    midnight = day_began_at(now)
    return midnight if phase.max_submissions_per_week is None else min(midnight, week_began_at(phase, now))


def least_left(teams: Mapping[Phase, int], now: datetime) -> dict[int, Allowance]:
    """The tightest limit of each phase for its team, by the phase's number, in one query.

    Phases without a limit are left out, and only what a limit is about is counted.
    """
    used = _used(teams, now)
    left: dict[int, Allowance] = {}
    for phase in teams:
        counts = used.get(phase.pk, {})
        known = [Allowance(BRIEFLY[span], limit, counts.get(span, 0)) for span, limit in _limits(phase).items()]
        if known:
            left[phase.pk] = min(known, key=lambda allowance: allowance.left)
    return left


def _used(teams: Mapping[Phase, int], now: datetime) -> dict[int, Any]:
    """The charged submissions of each phase's team by what limits are about; no query without a limit."""
    since: dict[datetime | None, list[Phase]] = defaultdict(list)
    for phase in teams:
        if _limits(phase):
            since[_counts_since(phase, now)].append(phase)
    if not since:
        return {}
    midnight, monday = day_began_at(now), monday_began_at(now)
    spans = {
        "day": Q(received_at__gte=midnight, received_at__lt=midnight + DAY),
        Week.CALENDAR: Q(received_at__gte=monday, received_at__lt=monday + WEEK),
        Week.SLIDING: Q(received_at__gt=now - WEEK),
        "total": Q(),
    }
    counted = Q()
    for instant, phases in since.items():
        counted |= Q(phase__in=phases) if instant is None else Q(phase__in=phases, received_at__gte=instant)
    charged = Submission.objects.filter(counted, team__in=teams.values(), is_charged=True)
    counts = {name: Count("pk", filter=span) for name, span in spans.items()}
    return {row["phase"]: row for row in charged.order_by().values("phase").annotate(**counts)}


def _week_ends_at(phase: Phase, team_id: int, now: datetime) -> datetime | None:
    """The instant when the team gets more: next Monday, or a week after its oldest counted submission."""
    limit, week = phase.max_submissions_per_week, week_began_at(phase, now)
    if phase.quota_week == Week.CALENDAR or not limit:
        return week + WEEK
    charged = Submission.objects.filter(team=team_id, phase=phase, is_charged=True, received_at__gte=week)
    counting = list(charged.order_by("-received_at").values_list("received_at", flat=True)[:limit])
    return counting[-1] + WEEK if counting else None


def require_scoring_errors_left(*, team: Team, now: datetime) -> None:
    """Raise `TOO_MANY_SCORING_ERRORS` after too many failures of scoring programs today.

    They cost no quota, because organizers may be at fault; without a limit, a team that makes the program fail would
    run for free.
    """
    midnight = day_began_at(now)
    failed = Submission.objects.filter(team=team, reason=Reason.SCORING_ERROR, created_at__gte=midnight)
    if failed.count() >= settings.SCORING_ERRORS_PER_DAY:
        raise TOO_MANY_SCORING_ERRORS(limit=settings.SCORING_ERRORS_PER_DAY, resets_at=midnight + DAY)


def smoke_allowance(team_id: int, *, now: datetime) -> Allowance:
    """The free smoke runs that the team has left today.

    They cost no quota, so that a fault shows before it is paid for; without a limit, a team could compute for nothing.
    """
    midnight = day_began_at(now)
    ended_there = Submission.objects.filter(
        team=team_id, is_charged=False, created_at__gte=midnight, created_at__lt=midnight + DAY, runs__is_smoke=True
    )
    used = ended_there.exclude(reason__in=NOT_RUN).count()
    return Allowance("for today's smoke runs", settings.SMOKE_RUNS_PER_DAY, used, midnight + DAY)


def require_smoke_runs_left(*, team: Team, now: datetime) -> None:
    """Raise `TOO_MANY_SMOKE_RUNS` when the team has no free smoke run left today."""
    allowance = smoke_allowance(team.pk, now=now)
    if not allowance.left:
        raise TOO_MANY_SMOKE_RUNS(limit=allowance.limit, resets_at=allowance.resets_at)


def team_storage(team_id: int) -> TeamRoom:
    """The room that a team's submitted files take, as long as its submissions; equal content counts once."""
    files = StoredFile.objects.filter(pk__in=Submission.objects.filter(team=team_id).values("file"))
    return TeamRoom(files.aggregate(total=Sum("size_bytes"))["total"] or 0, settings.TEAM_STORAGE_BYTES)


def require_team_storage(*, team: Team, file: StoredFile) -> None:
    """Raise `TEAM_STORAGE_USED` when one more file does not fit; a file submitted before takes no room."""
    storage = team_storage(team.pk)
    has_room = storage.used_bytes + file.size_bytes <= storage.limit_bytes
    if not has_room and not Submission.objects.filter(team=team, file=file).exists():
        raise TEAM_STORAGE_USED(used=storage.used_bytes, limit=storage.limit_bytes, size_bytes=file.size_bytes)

"""Daily counts by the reconciler, over the last two days, when submissions may still change."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db.models import Count, DurationField, ExpressionWrapper, F, FloatField, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, TruncDate

from competitions.catalog.models import Competition, Phase
from competitions.organize.models import CompetitionDay
from competitions.runs.models import Run, SlotUse
from competitions.submissions.models import Submission
from competitions.submissions.states import State

RECOUNTED: Final = timedelta(days=2)
Key = tuple[int, date]


def count_days(*, now: datetime) -> int:
    """Count the days that may have changed; all days of competitions not yet counted. Returns how many.

    Safe to run twice or late: a day is counted again, not added to.
    """
    recent = _recent(now)
    days: dict[Key, dict[str, Any]] = defaultdict(lambda: {"failures": {}})
    for key, status, reason, count in _outcomes(recent):
        days[key]["submitted"] = days[key].get("submitted", 0) + count
        if status == State.FINISHED:
            days[key]["scored"] = count
        elif reason:
            days[key]["failures"][reason] = count
    for key, work in (*_work(recent), *_waits(recent)):
        days[key] |= work
    rows = [
        CompetitionDay(competition_id=competition, day=day, **counted) for (competition, day), counted in days.items()
    ]
    CompetitionDay.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["competition", "day"],
        update_fields=["submitted", "scored", "failures", "runs", "waited_s", "cpu_s", "gpu_s"],
    )
    return len(rows)


def _recent(now: datetime) -> QuerySet[Submission]:
    """Submissions of the last days, and all of uncounted competitions.

    By their time, not their number: a day that is counted again must have all of its submissions, and those that were made at
    once, or put in as of earlier days, are not numbered in the order of their times.
    """
    since = datetime.combine((now - RECOUNTED).astimezone(UTC).date(), datetime.min.time(), UTC)
    counted = CompetitionDay.objects.order_by().values("competition").distinct()
    uncounted = Phase.objects.exclude(competition__in=list(counted.values_list("competition", flat=True)))
    return Submission.objects.filter(
        Q(created_at__gte=since) | Q(phase__in=list(uncounted.values_list("pk", flat=True)))
    )


def days_recount(competition: Competition, *, now: datetime) -> None:
    """Count all days of a competition anew, for what came in as of earlier days."""
    CompetitionDay.objects.filter(competition=competition).delete()
    count_days(now=now)


def _outcomes(recent: QuerySet[Submission]) -> Iterator[tuple[Key, str, str, int]]:
    rows = recent.order_by().annotate(day=TruncDate("created_at", tzinfo=UTC))
    counted = rows.values("phase__competition", "day", "status", "reason").annotate(count=Count("pk"))
    for row in counted:
        yield (row["phase__competition"], row["day"]), row["status"], row["reason"], row["count"]


def _work(recent: QuerySet[Submission]) -> Iterator[tuple[Key, dict[str, object]]]:
    """Runs that a worker took, and their usage."""
    runs = Run.objects.filter(submission__in=recent.order_by().values("pk"), started_at__isnull=False).order_by()
    rows = runs.annotate(day=TruncDate("submission__created_at", tzinfo=UTC)).values(
        "submission__phase__competition", "day"
    )
    for row in rows.annotate(
        count=Count("pk"),
        cpu=Sum(Cast(KT("meters__cpu_s"), FloatField())),
        gpu=Sum(Cast(KT("meters__gpu_s"), FloatField())),
    ):
        work = {"runs": row["count"], "cpu_s": row["cpu"] or 0, "gpu_s": row["gpu"] or 0}
        yield (row["submission__phase__competition"], row["day"]), work


def _waits(recent: QuerySet[Submission]) -> Iterator[tuple[Key, dict[str, object]]]:
    """The time that runs waited for a worker; that of a run itself says when its newest stage began."""
    uses = SlotUse.objects.filter(run__submission__in=recent.order_by().values("pk")).order_by()
    waited = ExpressionWrapper(F("started_at") - F("waits_since"), output_field=DurationField())
    rows = uses.annotate(day=TruncDate("run__submission__created_at", tzinfo=UTC)).values(
        "run__submission__phase__competition", "day"
    )
    for row in rows.annotate(waited=Sum(waited)):
        waited_s = max(row["waited"].total_seconds(), 0.0)
        yield (row["run__submission__phase__competition"], row["day"]), {"waited_s": waited_s}

"""What a change of a phase would do to submissions that were made and to those that are still allowed."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from django.db.models import Count

from competitions.catalog.impact import impact_check
from competitions.catalog.models import Phase
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind

ACCEPTS: Final = (
    ("accepts_predictions", Kind.PREDICTION),
    ("accepts_code", Kind.CODE),
    ("accepts_datasets", Kind.DATASET),
)


def _submissions(count: int) -> str:
    return f"{count} submission{'' if count == 1 else 's'}"


@impact_check
def submissions_fall_outside(phase: Phase, changes: Mapping[str, Any], now: datetime) -> Iterator[str]:
    made = Submission.objects.filter(phase=phase)
    closes_at = changes.get("closes_at")
    if closes_at is not None and (late := made.filter(received_at__gte=closes_at, is_late=False).count()):
        yield f"{_submissions(late)} came after the new end. They were in time when they came and stay as they are."
    if "tasks" in changes and (count := made.count()):
        yield f"{_submissions(count)} ran on the present tasks. They keep their scores; run them again to compare with new ones."
    for name, kind in ACCEPTS:
        if changes.get(name) is False and (count := made.filter(kind=kind).count()):
            yield f"{_submissions(count)} of {kind.label} were made; no more would be accepted."


@impact_check
def quotas_shrink(phase: Phase, changes: Mapping[str, Any], now: datetime) -> Iterator[str]:
    limit = changes.get("max_submissions")
    if limit is None:
        return
    charged = Submission.objects.filter(phase=phase, is_charged=True).order_by().values("team")
    over = charged.annotate(used=Count("pk")).filter(used__gte=limit).count()
    if over:
        yield f"{over} team{'' if over == 1 else 's'} used {limit} or more in total and could submit no more."

"""A daily limit (UTC) on wasted work: files that are refused cost time, too."""

from datetime import datetime, timedelta

from django.conf import settings

from core.background.jobs import jobs
from core.refusals import Refusal


class TooManyRefusedFiles(Refusal):
    code, http_status = "too_many_refused_files", 429

    def __init__(self, *, limit: int, resets_at: datetime) -> None:
        super().__init__(
            f"Your team has sent {limit} files today that could not be used, and no more are checked until {resets_at:%Y-%m-%d %H:%M} UTC. "
            "Test your file before you submit again: the messages of the refused ones say what was wrong.",
            limit=limit,
            resets_at=resets_at.isoformat(),
        )


def require_allowance(*, asker: str, now: datetime) -> None:
    """Raise `TooManyRefusedFiles` when the asker has had its share of files that were read for nothing."""
    if not refused_files_left(asker, now):
        raise TooManyRefusedFiles(limit=settings.REFUSED_FILES_PER_DAY, resets_at=_midnight(now) + timedelta(days=1))


def refused_files_left(asker: str, now: datetime) -> int:
    limit: int = settings.REFUSED_FILES_PER_DAY
    return max(limit - _refused_since(asker, _midnight(now)), 0)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _refused_since(asker: str, since: datetime) -> int:
    """Rows of all kinds that were refused, or taken back after the work had begun."""
    counted = [
        job.refused().filter(**{f"{job.asked_at}__gte": since}, asker=asker, attempts__gt=0).count()
        for job in jobs()
        if job.refused is not None
    ]
    return sum(counted)

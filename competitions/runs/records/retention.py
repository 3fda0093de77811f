"""Removal of old logs and outputs; their files go later, with all that nothing points at."""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings

from competitions.runs.models import RunLog, RunOutput, RunUsage
from competitions.submissions.states import FINAL

log = structlog.get_logger(__name__)
BATCH: Final = 1000  # of each kind in one round, so that no round holds the database for long


def remove_old(*, now: datetime) -> int:
    """Remove logs and outputs older than `KEEP_LOGS_DAYS` and `KEEP_OUTPUTS_DAYS`; 0 keeps them for ever.

    Returns how many rows were removed. Safe to run twice, or on two machines. Scores, meters and the receipt with its
    digests stay. Lines of CPU, memory and GPU go with the logs: a program could write into them, too.
    """
    removed = {
        "log_pieces": _remove(RunLog, settings.KEEP_LOGS_DAYS, now),
        "outputs": _remove(RunOutput, settings.KEEP_OUTPUTS_DAYS, now),
        "usages": _remove(RunUsage, settings.KEEP_LOGS_DAYS, now),
    }
    if any(removed.values()):
        log.info("old_removed", **removed)
    return sum(removed.values())


def _remove(kind: type[RunLog | RunOutput | RunUsage], kept_days: int, now: datetime) -> int:
    """Rows of runs that ended so long ago."""
    if not kept_days:
        return 0
    old = kind.objects.filter(run__state__in=FINAL, run__finished_at__lt=now - timedelta(days=kept_days))
    return kind.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:BATCH])).delete()[0]

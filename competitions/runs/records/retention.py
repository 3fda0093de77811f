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

    Returns how many rows were removed. Safe to run twice, or on two machines.
    """
    log_pieces = _remove_logs(now) if settings.KEEP_LOGS_DAYS else 0
    outputs = _remove_outputs(now) if settings.KEEP_OUTPUTS_DAYS else 0
    usages = _remove_usages(now) if settings.KEEP_LOGS_DAYS else 0
    if log_pieces or outputs or usages:
        log.info("old_removed", log_pieces=log_pieces, outputs=outputs, usages=usages)
    return log_pieces + outputs + usages


def _remove_logs(now: datetime) -> int:
    """Live logs of runs that ended long ago."""
    before = now - timedelta(days=settings.KEEP_LOGS_DAYS)
    old = RunLog.objects.filter(run__state__in=FINAL, run__finished_at__lt=before).values_list("pk", flat=True)[:BATCH]
    return RunLog.objects.filter(pk__in=list(old)).delete()[0]


def _remove_usages(now: datetime) -> int:
    """Lines of CPU, memory and GPU go with the logs: a program could write into them, too."""
    before = now - timedelta(days=settings.KEEP_LOGS_DAYS)
    old = RunUsage.objects.filter(run__state__in=FINAL, run__finished_at__lt=before).values_list("pk", flat=True)
    return RunUsage.objects.filter(pk__in=list(old[:BATCH])).delete()[0]


def _remove_outputs(now: datetime) -> int:
    """Outputs of runs that ended long ago; scores, meters and the receipt with its digests stay."""
    before = now - timedelta(days=settings.KEEP_OUTPUTS_DAYS)
    old = RunOutput.objects.filter(run__state__in=FINAL, run__finished_at__lt=before).values_list("pk", flat=True)[
        :BATCH
    ]
    return RunOutput.objects.filter(pk__in=list(old)).delete()[0]

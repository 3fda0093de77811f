"""What is not kept for ever: old logs and outputs. The files behind outputs go later, as all that nothing points at."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings

from competitions.runs.models import RunLog, RunOutput
from competitions.submissions.states import FINAL

log = structlog.get_logger(__name__)
BATCH: Final = 1000  # of each kind in one round, so that no round holds the database for long
EVERY: Final = timedelta(minutes=10)
_last: dict[str, datetime] = {}


@dataclass(frozen=True)
class Removed:
    """What one round removed."""

    log_pieces: int
    outputs: int


def retention_step(*, now: datetime) -> int:
    """The reconciler's step: a round of `remove_old`, at most every ten minutes in one process."""
    if "at" in _last and now - _last["at"] < EVERY:
        return 0
    _last["at"] = now
    removed = remove_old(now=now)
    if removed != Removed(0, 0):
        log.info("tidied", log_pieces=removed.log_pieces, outputs=removed.outputs)
    return removed.log_pieces + removed.outputs


def remove_old(*, now: datetime) -> Removed:
    """One round, by `KEEP_LOGS_DAYS` and `KEEP_OUTPUTS_DAYS`; 0 means for ever. Safe to run twice, or on two machines."""
    return Removed(
        log_pieces=_remove_logs(now) if settings.KEEP_LOGS_DAYS else 0,
        outputs=_remove_outputs(now) if settings.KEEP_OUTPUTS_DAYS else 0,
    )


def _remove_logs(now: datetime) -> int:
    """Live logs of runs that ended long ago."""
    before = now - timedelta(days=settings.KEEP_LOGS_DAYS)
    old = RunLog.objects.filter(run__state__in=FINAL, run__finished_at__lt=before).values_list("pk", flat=True)[:BATCH]
    return RunLog.objects.filter(pk__in=list(old)).delete()[0]


def _remove_outputs(now: datetime) -> int:
    """Outputs of runs that ended long ago; scores, meters and the receipt with its digests stay."""
    before = now - timedelta(days=settings.KEEP_OUTPUTS_DAYS)
    old = RunOutput.objects.filter(run__state__in=FINAL, run__finished_at__lt=before).values_list("pk", flat=True)[
        :BATCH
    ]
    return RunOutput.objects.filter(pk__in=list(old)).delete()[0]

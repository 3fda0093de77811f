"""What is not kept for ever: old logs and outputs, and stored files that nothing points at any more."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.core.files.storage import storages
from django.db import transaction
from django.db.models import Exists, ForeignObjectRel, OuterRef, ProtectedError, Q, QuerySet

from competitions.resources.models import StoredFile
from competitions.submissions.models import RunLog, RunOutput
from competitions.submissions.states import FINAL

log = structlog.get_logger(__name__)
BATCH: Final = 1000  # of each kind in one round, so that no round holds the database for long
ORPHAN_DAYS: Final = 7  # a backup that was begun in the meantime still finds its files


@dataclass(frozen=True)
class Removed:
    """What one round removed."""

    log_pieces: int
    outputs: int
    files: int


def remove_old(*, now: datetime) -> Removed:
    """One round, by `KEEP_LOGS_DAYS` and `KEEP_OUTPUTS_DAYS`; 0 means for ever. Safe to run twice, or on two machines."""
    return Removed(
        log_pieces=_remove_logs(now) if settings.KEEP_LOGS_DAYS else 0,
        outputs=_remove_outputs(now) if settings.KEEP_OUTPUTS_DAYS else 0,
        files=remove_orphans(now=now),
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


def orphans(*, now: datetime) -> QuerySet[StoredFile]:
    """Stored files that no row of any table points at."""
    pointed_at = Q()
    for relation in StoredFile._meta.get_fields(include_hidden=True):  # most have no name on this side
        if not isinstance(relation, ForeignObjectRel):
            continue
        rows = relation.related_model._default_manager.filter(**{relation.field.name: OuterRef("pk")})
        pointed_at |= Q(Exists(rows))
    old = StoredFile.objects.filter(created_at__lt=now - timedelta(days=ORPHAN_DAYS))
    return old.exclude(pointed_at)


def remove_orphans(*, now: datetime) -> int:
    """Delete orphans, the row first; the database refuses where something came to point at it meanwhile."""
    return sum(_remove(stored) for stored in list(orphans(now=now)[:BATCH]))


def _remove(stored: StoredFile) -> bool:
    with transaction.atomic():
        if StoredFile.objects.select_for_update().filter(pk=stored.pk).first() is None:
            return False
        try:
            StoredFile.objects.filter(pk=stored.pk).delete()
        except ProtectedError:  # somebody sent the same bytes again
            return False
        # Inside the transaction: whoever stores the same bytes now waits for this row and then finds neither.
        storages["objects"].delete(stored.storage_name)
    log.info("orphan_removed", sha256=stored.sha256, size_bytes=stored.size_bytes)
    return True

"""Exports of bundles in the background, each a stored file that is kept for a day."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import structlog
from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import User
from competitions.bundles.models import BundleExport
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition
from competitions.resources.orphans import forget_exports
from competitions.resources.storage import store_export
from core.background import jobs
from core.background.rows import Claim, claims

log = structlog.get_logger(__name__)
EXPORT_JOB: Final = "bundle-export"
KEPT: Final = timedelta(days=1)
STILL_NEW: Final = timedelta(minutes=1)


def export_begin(*, competition: Competition, by: User, with_files: bool, now: datetime) -> BundleExport:
    """Have a bundle written in the background, unless the same person waits for it already."""
    waiting = waiting_exports().filter(owner=by, competition=competition, with_files=with_files).first()
    if waiting is not None:
        return waiting
    export = BundleExport.objects.create(
        owner=by, competition=competition, with_files=with_files, created_at=now, changed_at=now
    )
    jobs.send_after_commit(EXPORT_JOB, export.pk)
    return export


def export_recent(*, competition: Competition, by: User, with_files: bool, now: datetime) -> BundleExport:
    """The person's export that waits or ended within a minute, else a new one; for scripts that poll."""
    recent = BundleExport.objects.filter(owner=by, competition=competition, with_files=with_files)
    recent = recent.filter(Q(state=BundleExport.State.WAITING) | Q(changed_at__gte=now - STILL_NEW))
    return recent.first() or export_begin(competition=competition, by=by, with_files=with_files, now=now)


def waiting_exports() -> QuerySet[BundleExport]:
    """Exports that somebody must write, or is writing."""
    return BundleExport.objects.filter(state=BundleExport.State.WAITING)


@claims(waiting_exports, "competition", "owner")
def export_perform(export: BundleExport, claimed: Claim) -> None:
    """Write the bundle; nothing when it is there, nobody wants it any more, or another process writes it."""
    if export.attempts > settings.BACKGROUND_ATTEMPTS:
        _finish(claimed, state=BundleExport.State.FAILED)
        log.error("export_given_up", bundle_export=export.pk)
        return
    with claimed.kept():
        _export(export, claimed)


EXPORT = jobs.Job(EXPORT_JOB, waiting=waiting_exports, perform=export_perform, queue=jobs.Queue.LONG)


def _export(export: BundleExport, claimed: Claim) -> None:
    def write(target: Path) -> None:
        bundle_write(competition=export.competition, target=target, with_files=export.with_files, by=export.owner)

    try:
        file = store_export("bundle.zip", write)
    except Exception:
        _finish(claimed, state=BundleExport.State.FAILED)
        raise
    if not _finish(claimed, state=BundleExport.State.FINISHED, file=file):
        log.warning("export_taken_over", bundle_export=export.pk)


def _finish(claimed: Claim, **result: Any) -> bool:
    return claimed.release(changed_at=timezone.now(), **result)


def remove_old_exports(*, now: datetime) -> int:
    """For the reconciler: forget exports a day after they ended, with their files; returns how many."""
    old = BundleExport.objects.exclude(state=BundleExport.State.WAITING).filter(changed_at__lte=now - KEPT)
    return forget_exports(old, now=now)

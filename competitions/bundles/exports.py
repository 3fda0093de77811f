"""Exports of bundles in the background, each a stored file that is kept for a day."""

import tempfile
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
from competitions.resources.models import StoredFile
from competitions.resources.orphans import GRACE, mark_unneeded
from competitions.resources.storage import store_path
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
    try:
        file = _write(export)
    except Exception:
        _finish(claimed, state=BundleExport.State.FAILED)
        raise
    if not _finish(claimed, state=BundleExport.State.FINISHED, file=file):
        log.warning("export_taken_over", bundle_export=export.pk)


def _write(export: BundleExport) -> StoredFile:
    folder = Path(settings.UPLOADS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="export-") as scratch:
        target = Path(scratch) / "bundle.zip"
        bundle_write(competition=export.competition, target=target, with_files=export.with_files, by=export.owner)
        return store_path(target, link=True)


def _finish(claimed: Claim, **result: Any) -> bool:
    return claimed.release(changed_at=timezone.now(), **result)


def remove_old_exports(*, now: datetime) -> int:
    """For the reconciler: forget exports a day after they ended, with their files; returns how many."""
    old = BundleExport.objects.exclude(state=BundleExport.State.WAITING).filter(changed_at__lte=now - KEPT)
    files = list(old.exclude(file=None).values_list("file", flat=True))
    removed, _ = old.delete()
    # Nobody wants one back: it can be written again.
    mark_unneeded(StoredFile.objects.filter(pk__in=files), now=now - GRACE, limit=len(files))
    return removed

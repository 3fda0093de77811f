"""Exports of a person's data in the background, each a stored file that is kept for a week."""

import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.mail import mail_person
from accounts.models import User
from competitions.notifications.services import notify_account
from competitions.people.documents import export_write
from competitions.people.models import DataExport
from competitions.resources.models import StoredFile
from competitions.resources.orphans import GRACE, mark_unneeded
from competitions.resources.storage import store_path
from core.background import jobs
from core.background.rows import Claim, claims
from core.refusals import RefusalKind

log = structlog.get_logger(__name__)
JOB: Final = "data-export"
KEPT: Final = timedelta(days=7)
PAUSE: Final = timedelta(days=1)  # between two of one person

EXPORTED_LATELY: Final = RefusalKind(
    429,
    "exported_lately",
    "Your data were written within the last day. You can ask again from {again_at:%Y-%m-%d %H:%M} UTC on.",
)


@transaction.atomic
def export_begin(*, user: User, now: datetime) -> DataExport:
    """Have the person's data written, unless that is being done already. Raises `EXPORTED_LATELY`."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two forms at once take turns
    waiting = waiting_exports().filter(user=user).first()
    if waiting is not None:
        return waiting
    last = DataExport.objects.filter(user=user, state=DataExport.State.FINISHED, created_at__gt=now - PAUSE).first()
    if last is not None:
        raise EXPORTED_LATELY(again_at=last.created_at + PAUSE)
    export = DataExport.objects.create(user=user, created_at=now, changed_at=now)
    jobs.send_after_commit(JOB, export.pk)
    return export


def waiting_exports() -> QuerySet[DataExport]:
    """Exports that somebody must write, or is writing."""
    return DataExport.objects.filter(state=DataExport.State.WAITING)


@claims(waiting_exports, "user")
def export_perform(export: DataExport, claimed: Claim) -> None:
    """Write the zip and tell its person; nothing when it is there, or another process writes it."""
    if export.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(changed_at=timezone.now(), state=DataExport.State.FAILED)
        log.error("data_export_given_up", data_export=export.pk)
        return
    with claimed.kept():
        _finish(export, claimed, _write(export))


EXPORT: Final = jobs.Job(JOB, waiting=waiting_exports, perform=export_perform, queue=jobs.Queue.LONG)


def _write(export: DataExport) -> StoredFile:
    folder = Path(settings.UPLOADS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="export-") as scratch:
        target = Path(scratch) / "data.zip"
        export_write(export.user, target, timezone.now())
        return store_path(target, link=True)


@transaction.atomic
def _finish(export: DataExport, claimed: Claim, file: StoredFile) -> None:
    if not claimed.release(changed_at=timezone.now(), state=DataExport.State.FINISHED, file=file):
        log.warning("data_export_taken_over", data_export=export.pk)
        return
    subject, path = "Your data are ready", "/profile/data/"
    text = f"The data that you asked for are written. Sign in to download them within {KEPT.days} days."
    mail_person(to=export.user, subject=subject, text=text, path=path)
    notify_account(user=export.user, subject=subject, text=text, path=path, event=f"data-export-{export.pk}")


def remove_old_exports(*, now: datetime) -> int:
    """For the reconciler: forget exports a week after they ended, with their files; returns how many."""
    old = DataExport.objects.exclude(state=DataExport.State.WAITING).filter(changed_at__lte=now - KEPT)
    files = list(old.exclude(file=None).values_list("file", flat=True))
    removed, _ = old.delete()
    mark_unneeded(StoredFile.objects.filter(pk__in=files), now=now - GRACE, limit=len(files))  # nobody wants one back
    return removed

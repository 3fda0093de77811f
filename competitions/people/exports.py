"""Exports of a person's data in the background, each a stored file that is kept for a week."""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.outbox import mail_person
from competitions.notifications.services import notify_account
from competitions.people.documents import export_write
from competitions.people.models import DataExport
from competitions.resources.models import StoredFile
from competitions.resources.orphans import forget_exports
from competitions.resources.storage import store_export
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
    "Your data were exported within the last day. You can ask again from {again_at:%Y-%m-%d %H:%M} UTC on.",
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
        write = partial(export_write, export.user, now=timezone.now())
        _finish(export, claimed, store_export("data.zip", write))


EXPORT: Final = jobs.Job(JOB, waiting=waiting_exports, perform=export_perform, queue=jobs.Queue.LONG)


@transaction.atomic
def _finish(export: DataExport, claimed: Claim, file: StoredFile) -> None:
    if not claimed.release(changed_at=timezone.now(), state=DataExport.State.FINISHED, file=file):
        log.warning("data_export_taken_over", data_export=export.pk)
        return
    subject, path = "Your data are ready", "/profile/data/"
    text = f"The data that you asked for are ready. Sign in to download them within {KEPT.days} days."
    mail_person(to=export.user, subject=subject, text=text, path=path)
    notify_account(user=export.user, subject=subject, text=text, path=path, event=f"data-export-{export.pk}")


def remove_old_exports(*, now: datetime) -> int:
    """For the reconciler: forget exports a week after they ended, with their files; returns how many."""
    old = DataExport.objects.exclude(state=DataExport.State.WAITING).filter(changed_at__lte=now - KEPT)
    return forget_exports(old, now=now)

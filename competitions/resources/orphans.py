"""Removing stored files that nothing points at any more, and what a crash left half written.

A file is marked when it is first seen without a pointer, and removed when it has been without one for `GRACE` since. Storing
the same bytes again takes the mark off before anything relies on them, and a removal looks at the mark under the row's
lock: so of the two only one happens, in either order.
"""

import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, ProtectedError, Q, QuerySet
from django.utils import timezone

from competitions.resources.models import RemovalGuard, StoredFile, Upload, pointers_at
from competitions.resources.stores import object_store
from competitions.resources.stores.base import StoredObject
from core.background.rows import claim
from core.reconciler import run_guarded
from core.refusals import RefusalKind

log = structlog.get_logger(__name__)
GRACE: Final = timedelta(days=7)  # somebody may want back what pointed at it
BATCH: Final = 500
LEFT_AFTER: Final = timedelta(days=2)  # no request lasts as long: whoever wrote it is gone


def remove_unneeded(*, now: datetime) -> int:
    """The reconciler's step: a round of `remove_orphans` and `remove_leavings`."""
    return remove_orphans(now=now) + remove_leavings(now=now)


def remove_orphans(*, now: datetime) -> int:
    """Mark files without a pointer, and remove those marked long ago; returns how many were removed.

    At most `BATCH` a round each. Safe to run twice, late, or on two machines. Removes nothing while a backup is made.
    """
    marked = StoredFile.objects.filter(unneeded_since__isnull=False)
    marked.filter(_pointed_at()).update(unneeded_since=None)
    mark_unneeded(StoredFile.objects.filter(unneeded_since=None), now=now)
    due = marked.filter(unneeded_since__lte=now - GRACE).order_by("unneeded_since")[:BATCH]
    return sum(run_guarded("files_removed", partial(_remove, file), now=now) for file in list(due))


def mark_unneeded(files: QuerySet[StoredFile], *, now: datetime, limit: int = BATCH) -> int:
    """Mark those of these files that nothing points at; returns how many."""
    digests = list(files.exclude(_pointed_at()).values_list("pk", flat=True)[:limit])
    return StoredFile.objects.filter(pk__in=digests, unneeded_since=None).update(unneeded_since=now)


def forget_exports(exports: QuerySet[Any], *, now: datetime) -> int:
    """Delete these rows with their files, which can be written again; returns how many."""
    files = list(exports.exclude(file=None).values_list("file", flat=True))
    removed, _ = exports.delete()
    discard_files(files, now=now)
    return removed


def discard_files(digests: Collection[str], *, now: datetime) -> None:
    """Let files that nothing points at go in the next round, not after a week: nobody wants them back."""
    if digests:
        mark_unneeded(StoredFile.objects.filter(pk__in=digests), now=now - GRACE, limit=len(digests))


def _pointed_at() -> Q:
    """Files that a row of any table points at. Every pointer is a protecting foreign key."""
    condition = Q()
    for model, pointer in pointers_at(StoredFile):
        condition |= Q(Exists(model._base_manager.filter(**{pointer: OuterRef("pk")})))
    return condition


def _remove(file: StoredFile, *, now: datetime) -> bool:
    with transaction.atomic():
        marked = StoredFile.objects.select_for_update().filter(pk=file.pk, unneeded_since__lte=now - GRACE)
        if not _lock_removals() or marked.first() is None:
            return False
        try:
            StoredFile.objects.filter(pk=file.pk).delete()
        except ProtectedError:  # somebody points at it again
            return False
        # Inside the transaction: whoever stores the same bytes waits for this row, and looks for the object afterwards.
        object_store().delete(file.sha256)
    log.info("orphan_removed", sha256=file.sha256, size_bytes=file.size_bytes)
    return True


BACKUP_RUNNING: Final = RefusalKind(
    409,
    "backup_running",
    "A backup of this site is being made, here or on another host. Wait for it; one that was killed is forgotten within a minute.",
)


@contextmanager
def removals_held() -> Iterator[None]:
    """Keep every host of the site from removing stored files, for a backup.

    Raises `BACKUP_RUNNING` where one is made already. The claim waits for removals that hold the row, and is renewed until the end of the
    block; it runs out by itself when the process is killed.
    """
    RemovalGuard.objects.get_or_create(pk=RemovalGuard.THE_ONE)
    claimed = claim(RemovalGuard.objects.all(), RemovalGuard.THE_ONE)
    if claimed is None:
        raise BACKUP_RUNNING()
    try:
        with claimed.kept():
            yield
    finally:
        claimed.release()


def _lock_removals() -> bool:
    """Lock removals until the transaction ends, for which a backup waits; False while one runs."""
    guard, _ = RemovalGuard.objects.select_for_update().get_or_create(pk=RemovalGuard.THE_ONE)
    return guard.claimed_until is None or guard.claimed_until <= timezone.now()


def remove_leavings(*, now: datetime) -> int:
    """Remove half-written files of killed processes, and parts of lost uploads; returns how many."""
    before = now - LEFT_AFTER
    return sum(_clear(path, before.timestamp()) for path in _half_uploads()) + object_store().remove_unfinished(
        before=before
    )


def adopt_rowless(*, now: datetime) -> int:
    """Give objects without a row one that nothing needs; returns how many.

    Their writer was killed before it made the row. They then go like any other orphan; whoever stores the same bytes meanwhile keeps them.
    """
    settled = (each for each in object_store().objects() if each.modified_at <= now - LEFT_AFTER)
    return sum(_adopt(batch, now) for batch in iter(lambda: list(islice(settled, BATCH)), []))


def _adopt(batch: list[StoredObject], now: datetime) -> int:
    digests = [each.digest for each in batch]
    known = set(StoredFile.objects.filter(pk__in=digests).values_list("pk", flat=True))
    rowless = [
        StoredFile(sha256=each.digest, size_bytes=each.size_bytes, unneeded_since=now)
        for each in batch
        if each.digest not in known
    ]
    StoredFile.objects.bulk_create(rowless, ignore_conflicts=True)
    return len(rowless)


def _half_uploads() -> Iterable[Path]:
    """Spool files, and folders of uploads without a row."""
    folder = Path(settings.UPLOADS_DIR)
    if not folder.is_dir():
        return []
    there = list(folder.iterdir())
    known = {str(key) for key in Upload.objects.values_list("key", flat=True)}
    return [path for path in there if path.name not in known]


def _clear(path: Path, before: float) -> bool:
    try:
        if path.stat().st_mtime > before:
            return False
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:  # another process was faster
        return False
    log.info("leaving_removed", name=path.name)
    return True

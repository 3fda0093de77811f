"""Removing stored files that nothing points at any more, and what a crash left half written.

A file is marked when it is first seen without a pointer, and removed when it has been without one for `GRACE` since. Storing
the same bytes again takes the mark off before anything relies on them, and a removal looks at the mark under the row's
lock: so of the two only one happens, in either order.
"""

import fcntl
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.core.files.storage import FileSystemStorage, storages
from django.db import transaction
from django.db.models import Exists, OuterRef, ProtectedError, Q, QuerySet

from competitions.resources.models import StoredFile, Upload, pointers_at
from competitions.resources.storage import arriving_folder

log = structlog.get_logger(__name__)
GRACE: Final = timedelta(days=7)  # somebody may want back what pointed at it
BATCH: Final = 500
LEFT_AFTER: Final = timedelta(days=2)  # no request lasts as long: whoever wrote it is gone


def remove_unneeded(*, now: datetime) -> int:
    """The reconciler's step: a round of `remove_orphans` and `remove_leavings`."""
    return remove_orphans(now=now) + remove_leavings(now=now)


def remove_orphans(*, now: datetime, limit: int = BATCH) -> int:
    """Mark files without a pointer, remove those marked long ago, at most `limit` a round each; returns how many were removed.

    Safe to run twice, late, or on two machines. Removes nothing while a backup is made.
    """
    marked = StoredFile.objects.filter(unneeded_since__isnull=False)
    marked.filter(_pointed_at()).update(unneeded_since=None)
    mark_unneeded(StoredFile.objects.filter(unneeded_since=None), now=now, limit=limit)
    with _alone() as may_remove:
        if not may_remove:
            return 0
        due = marked.filter(unneeded_since__lte=now - GRACE).order_by("unneeded_since")[:limit]
        return sum(_removed(file, now - GRACE) for file in list(due))


def mark_unneeded(files: QuerySet[StoredFile], *, now: datetime, limit: int = BATCH) -> int:
    """Mark those of these files that nothing points at; returns how many."""
    found = list(files.exclude(_pointed_at()).values_list("pk", flat=True)[:limit])
    return StoredFile.objects.filter(pk__in=found, unneeded_since=None).update(unneeded_since=now)


def _pointed_at() -> Q:
    """Files that a row of any table points at. Every pointer is a protecting foreign key."""
    found = Q()
    for model, pointer in pointers_at(StoredFile):
        found |= Q(Exists(model._base_manager.filter(**{pointer: OuterRef("pk")})))
    return found


def _removed(file: StoredFile, marked_before: datetime) -> bool:
    with transaction.atomic():
        marked = StoredFile.objects.select_for_update().filter(pk=file.pk, unneeded_since__lte=marked_before)
        if marked.first() is None:
            return False
        try:
            StoredFile.objects.filter(pk=file.pk).delete()
        except ProtectedError:  # somebody points at it again
            return False
        # Inside the transaction: whoever stores the same bytes waits for this row, and looks for the object afterwards.
        storages["objects"].delete(file.storage_name)
    log.info("orphan_removed", sha256=file.sha256, size_bytes=file.size_bytes)
    return True


@contextmanager
def nothing_is_removed() -> Iterator[None]:
    """While this lasts, no stored file is removed by a process that shares the data folder: for a backup."""
    with _lock_file().open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@contextmanager
def _alone() -> Iterator[bool]:
    """True inside unless `nothing_is_removed` lasts."""
    with _lock_file().open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _lock_file() -> Path:
    folder = Path(settings.DATA_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "removal.lock"


def remove_leavings(*, now: datetime) -> int:
    """Remove what processes that were killed left half written, and parts of uploads that are gone; returns how many."""
    before = (now - LEFT_AFTER).timestamp()
    return sum(_cleared(path, before) for path in [*_half_uploads(), *_half_objects()])


def _half_uploads() -> Iterable[Path]:
    """Spool files, and folders of uploads without a row."""
    folder = Path(settings.UPLOADS_DIR)
    if not folder.is_dir():
        return []
    there = list(folder.iterdir())
    known = {str(key) for key in Upload.objects.values_list("key", flat=True)}
    return [path for path in there if path.name not in known]


def _half_objects() -> Iterable[Path]:
    storage = storages["objects"]
    return arriving_folder(storage).iterdir() if isinstance(storage, FileSystemStorage) else []


def _cleared(path: Path, before: float) -> bool:
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

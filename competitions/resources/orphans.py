"""Removing stored files that nothing points at any more."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.core.files.storage import storages
from django.db import transaction
from django.db.models import ProtectedError

from competitions.resources.models import StoredFile, pointers_at

# A file is stored before the row that needs it: what is younger may be about to be pointed at.
GRACE: Final = timedelta(hours=24)
EVERY: Final = timedelta(hours=1)  # looking through all pointers takes a while on a large site
_last: dict[str, datetime] = {}


def orphans_step(*, now: datetime) -> int:
    """The reconciler's step: a round of `remove_orphans`, at most once an hour in one process."""
    if "at" in _last and now - _last["at"] < EVERY:
        return 0
    _last["at"] = now
    return remove_orphans(now=now)


def remove_unused(files: Iterable[StoredFile]) -> int:
    """Remove those of these files that nothing points at; returns how many. Every pointer is a protecting foreign key."""
    return sum(_removed(file) for file in files)


def _removed(file: StoredFile) -> bool:
    try:
        with transaction.atomic():
            StoredFile.objects.filter(pk=file.pk).delete()
    except ProtectedError:
        return False
    storages["objects"].delete(file.storage_name)
    return True


def remove_orphans(*, now: datetime, limit: int = 500) -> int:
    """Remove old files that nothing points at, at most `limit` a round; returns how many. Safe to run twice."""
    old = StoredFile.objects.filter(created_at__lt=now - GRACE)
    for model, pointer in pointers_at(StoredFile):
        pointed_at = model._base_manager.filter(**{f"{pointer}__isnull": False}).values(pointer)
        old = old.exclude(pk__in=pointed_at)
    return remove_unused(old[:limit])

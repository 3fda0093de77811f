"""Files that come and go at the same moment, on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from competitions.resources import orphans
from competitions.resources.models import StoredFile
from competitions.resources.orphans import GRACE, remove_orphans
from competitions.resources.storage import open_stored, store_bytes
from competitions.resources.stores.disk import DiskStore
from tests.waiting import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
CONTENT = b"removed and sent again at the same moment"


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


class Storing(threading.Thread):
    """Stores the content in a connection of its own."""

    def run(self) -> None:
        try:
            self.stored = store_bytes(CONTENT)
        finally:
            connection.close()


@pytest.fixture
def storing() -> Iterator[Storing]:
    thread = Storing()
    yield thread
    thread.join(30)


@pytest.mark.parametrize("moment", ["before the row goes", "before the object goes"])
def test_bytes_that_are_sent_again_while_they_are_removed_are_kept(
    storing: Storing, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    now = timezone.now()
    store_bytes(CONTENT)
    remove_orphans(now=now)

    def begin() -> None:
        if storing.ident is None:
            storing.start()
            wait_for(
                lambda: somebody_waits_for_a_lock() or not storing.is_alive(), 120, "the other one stored, or waits"
            )

    removed, deleted = orphans._remove, DiskStore.delete

    def remove(*arguments: Any, **options: Any) -> bool:
        begin()
        return removed(*arguments, **options)

    def delete(store: DiskStore, digest: str) -> None:
        begin()
        deleted(store, digest)

    if moment == "before the row goes":
        monkeypatch.setattr(orphans, "_remove", remove)
    else:
        monkeypatch.setattr(DiskStore, "delete", delete)
    remove_orphans(now=now + GRACE + timedelta(seconds=1))
    storing.join(30)
    with open_stored(StoredFile.objects.get(pk=storing.stored.pk)) as file:
        assert file.read() == CONTENT

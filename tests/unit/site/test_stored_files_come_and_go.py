"""A stored file is on the disk before anything relies on it, and goes when nothing has pointed at it for a week."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import FileSystemStorage, storages

from competitions.resources.models import Resource, StoredFile
from competitions.resources.orphans import GRACE, LEFT_AFTER, remove_leavings, remove_orphans
from competitions.resources.storage import arriving_folder, open_stored, spooled, store_bytes, store_path
from competitions.resources.uploads import upload_begin
from tests.worlds import World, person


def test_what_nothing_has_pointed_at_for_a_week_is_removed_and_nothing_else(site: World) -> None:
    orphan = store_bytes(b"nobody wants this")
    used = site.phase.tasks.get().scoring_program.file
    seen_at = site.now + timedelta(days=100)
    assert remove_orphans(now=seen_at) == 0, "however old it is: it may have lost its last pointer a moment ago"
    assert remove_orphans(now=seen_at + GRACE - timedelta(seconds=1)) == 0
    kept = StoredFile.objects.count() - 1
    assert remove_orphans(now=seen_at + GRACE) == 1
    assert StoredFile.objects.count() == kept
    with pytest.raises(FileNotFoundError):
        open_stored(orphan)
    open_stored(used).close()


def test_a_file_that_is_stored_again_is_as_new(site: World) -> None:
    store_bytes(b"nobody wants this")
    remove_orphans(now=site.now)
    assert StoredFile.objects.filter(unneeded_since=site.now).count() == 1
    again = store_bytes(b"nobody wants this")
    assert remove_orphans(now=site.now + GRACE) == 0
    open_stored(again).close()


def test_a_file_that_is_pointed_at_again_begins_its_week_anew(site: World) -> None:
    orphan = store_bytes(b"wanted for a day")
    remove_orphans(now=site.now)
    taken = Resource.objects.create(owner=person(), kind=Resource.Kind.BUNDLE, name="x", file=orphan, file_name="x")
    remove_orphans(now=site.now + timedelta(days=1))
    taken.delete()
    assert remove_orphans(now=site.now + GRACE) == 0
    assert StoredFile.objects.filter(pk=orphan.pk).exists()


def test_every_object_is_on_the_disk_before_its_row_exists(site: World, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[int] = set()
    fsync = os.fsync

    def seen(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        assert not StoredFile.objects.filter(size_bytes=12_345).exists()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", seen)
    with spooled([b"a" * 12_345]) as path:
        linked = store_path(path, link=True)
    placed = Path(storages["objects"].path(linked.storage_name))
    assert {placed.stat().st_ino, placed.parent.stat().st_ino} <= synced


def test_what_killed_processes_left_half_written_is_removed_after_two_days(site: World) -> None:
    upload = upload_begin(user=site.member(), file_name="x.zip", size_bytes=10, now=site.now)
    storage = storages["objects"]
    assert isinstance(storage, FileSystemStorage)
    uploads, arriving = Path(settings.UPLOADS_DIR), arriving_folder(storage)
    (uploads / "no-such-upload").mkdir()
    left = [uploads / "spool-abc", uploads / "no-such-upload" / "0", arriving / "tmpabc"]
    for path in left:
        path.write_bytes(b"half")
    for path in (*left, uploads / "no-such-upload", upload.folder):
        os.utime(path, (site.now.timestamp(),) * 2)
    assert remove_leavings(now=site.now + LEFT_AFTER - timedelta(seconds=1)) == 0, "somebody may be writing them"
    assert remove_leavings(now=site.now + LEFT_AFTER + timedelta(seconds=1)) == 3
    assert not any(path.exists() for path in left)
    assert upload.folder.is_dir()

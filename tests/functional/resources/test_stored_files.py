"""A stored file is on disk before anything relies on it, and goes after a week without use."""

from __future__ import annotations

import hashlib
import io
import os
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.conf import LazySettings

from competitions.resources.models import RemovalGuard, Resource, StoredFile
from competitions.resources.orphans import (
    BACKUP_RUNNING,
    GRACE,
    LEFT_AFTER,
    adopt_rowless,
    removals_held,
    remove_leavings,
    remove_orphans,
)
from competitions.resources.storage import open_stored, spooled, store_bytes, store_path
from competitions.resources.stores import object_store
from competitions.resources.stores.disk import UNFINISHED
from competitions.resources.uploads import upload_begin
from tests.refusals import refuses
from tests.scenario import Scenario, person, scenario


@pytest.fixture(autouse=True)
def own_folders(settings: LazySettings, tmp_path: Path) -> None:
    """Folders without what other tests left."""
    settings.STORE_URL, settings.UPLOADS_DIR = (tmp_path / "objects").as_uri(), tmp_path / "uploads"


@pytest.fixture
def site(own_folders: None, noon: None) -> Scenario:
    """A competition whose files lie in these folders."""
    return scenario()


def test_what_nothing_has_pointed_at_for_a_week_is_removed_and_nothing_else(site: Scenario) -> None:
    orphan = store_bytes(b"nobody wants this")
    used = site.phase.tasks.get().scoring_program.file
    seen_at = site.now + timedelta(days=100)
    assert remove_orphans(now=seen_at) == 0, "however old it is: it may have lost its last pointer a moment ago"
    assert remove_orphans(now=seen_at + GRACE - timedelta(seconds=1)) == 0
    expected = StoredFile.objects.count() - 1
    assert remove_orphans(now=seen_at + GRACE) == 1
    assert StoredFile.objects.count() == expected
    with pytest.raises(FileNotFoundError):
        open_stored(orphan)
    open_stored(used).close()


def test_a_file_that_is_stored_again_is_as_new(site: Scenario) -> None:
    store_bytes(b"nobody wants this")
    remove_orphans(now=site.now)
    assert StoredFile.objects.filter(unneeded_since=site.now).count() == 1
    again = store_bytes(b"nobody wants this")
    assert remove_orphans(now=site.now + GRACE) == 0
    open_stored(again).close()


def test_a_file_that_is_pointed_at_again_begins_its_week_anew(site: Scenario) -> None:
    orphan = store_bytes(b"wanted for a day")
    remove_orphans(now=site.now)
    taken = Resource.objects.create(owner=person(), kind=Resource.Kind.BUNDLE, name="x", file=orphan, file_name="x")
    remove_orphans(now=site.now + timedelta(days=1))
    taken.delete()
    assert remove_orphans(now=site.now + GRACE) == 0
    assert StoredFile.objects.filter(pk=orphan.pk).exists()


def test_every_object_is_on_the_disk_before_its_row_exists(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[int] = set()
    fsync = os.fsync

    def note_inode(descriptor: int) -> None:
        if not StoredFile.objects.filter(size_bytes=12_345).exists():
            synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note_inode)
    with spooled([b"a" * 12_345]) as path:
        linked = store_path(path, link=True)
    placed = object_store().local_path(linked.sha256)
    assert placed is not None
    assert {placed.stat().st_ino, placed.parent.stat().st_ino} <= synced


def test_what_killed_processes_left_half_written_is_removed_after_two_days(site: Scenario, tmp_path: Path) -> None:
    upload = upload_begin(user=site.member(), file_name="x.zip", size_bytes=10, now=site.now)
    uploads, arriving = tmp_path / "uploads", tmp_path / "objects" / UNFINISHED
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


def test_an_object_whose_writer_was_killed_before_its_row_goes_like_any_orphan(site: Scenario) -> None:
    content = b"its row was never made"
    digest = hashlib.sha256(content).hexdigest()
    object_store().put(digest, io.BytesIO(content))
    path = object_store().local_path(digest)
    assert path is not None
    os.utime(path, (site.now.timestamp(),) * 2)
    assert adopt_rowless(now=site.now + LEFT_AFTER - timedelta(minutes=1)) == 0, "its row may still come"
    seen_at = site.now + LEFT_AFTER
    assert adopt_rowless(now=seen_at) == 1
    assert adopt_rowless(now=seen_at) == 0
    assert remove_orphans(now=seen_at + GRACE) == 1
    assert not object_store().exists(digest)


def test_bytes_that_come_again_after_their_object_was_adopted_are_kept(site: Scenario) -> None:
    content = b"its row comes late"
    digest = hashlib.sha256(content).hexdigest()
    object_store().put(digest, io.BytesIO(content))
    path = object_store().local_path(digest)
    assert path is not None
    os.utime(path, (site.now.timestamp(),) * 2)
    assert adopt_rowless(now=site.now + LEFT_AFTER) == 1
    stored = store_bytes(content)
    assert remove_orphans(now=site.now + LEFT_AFTER + GRACE) == 0
    open_stored(stored).close()


def test_only_one_backup_is_made_at_a_time_on_whatever_hosts(site: Scenario) -> None:
    with removals_held(), refuses(BACKUP_RUNNING, match="Wait for it"), removals_held():
        pytest.fail("two backups were made at once")
    with removals_held():
        """Free again."""


def test_a_backup_that_was_killed_holds_up_removals_only_until_its_claim_runs_out(site: Scenario) -> None:
    store_bytes(b"nobody wants this")
    remove_orphans(now=site.now)
    RemovalGuard.objects.create(
        pk=RemovalGuard.THE_ONE, claim_id=uuid.uuid4(), claimed_until=site.now + timedelta(seconds=20)
    )
    assert remove_orphans(now=site.now + GRACE) == 0
    with time_machine.travel(site.now + timedelta(seconds=21)):
        assert remove_orphans(now=site.now + GRACE) == 1

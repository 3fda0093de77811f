"""Uploads in parts: nothing that was acknowledged is lost, nothing is taken twice."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from competitions.resources import uploads
from competitions.resources.models import StoredFile, Upload
from competitions.resources.storage import open_stored, store_path
from tests import scenario as worlds
from tests.refusals import refuses
from tests.scenario import Scenario

CONTENT = bytes(range(256)) * 40


def begin(site: Scenario, size: int = len(CONTENT)) -> Upload:
    return uploads.upload_begin(user=site.member(), file_name="a.zip", size_bytes=size, now=site.now)


def append(site: Scenario, upload: Upload, offset: int, *chunks: bytes) -> Upload:
    return uploads.upload_append(key=upload.key, user=site.member(), offset=offset, chunks=chunks, now=site.now)


def test_parts_make_the_whole_file_with_its_digest(site: Scenario) -> None:
    upload = begin(site)
    append(site, upload, 0, CONTENT[:1000])
    done = append(site, upload, 1000, CONTENT[1000:5000], CONTENT[5000:])
    assert done.file is not None
    assert done.file.sha256 == hashlib.sha256(CONTENT).hexdigest()
    with open_stored(done.file) as stored:
        assert stored.read() == CONTENT
    assert done.began_at == site.now


def test_a_transfer_that_breaks_off_goes_on_where_it_stopped(site: Scenario) -> None:
    def broken() -> Iterator[bytes]:
        yield CONTENT[:3000]
        raise OSError("the client went away")

    upload = begin(site)
    half = uploads.upload_append(key=upload.key, user=site.member(), offset=0, chunks=broken(), now=site.now)
    assert half.received_bytes == 3000
    assert append(site, upload, 3000, CONTENT[3000:]).file_id == hashlib.sha256(CONTENT).hexdigest()


def test_a_part_that_comes_twice_is_refused_with_the_right_offset(site: Scenario) -> None:
    upload = begin(site)
    append(site, upload, 0, CONTENT[:1000])
    with refuses(uploads.WRONG_OFFSET) as refusal:
        append(site, upload, 0, CONTENT[:1000])
    assert refusal.value.extra["expected_offset"] == 1000
    assert Upload.objects.get(pk=upload.pk).received_bytes == 1000


def test_more_bytes_than_announced_are_refused_and_not_kept(site: Scenario) -> None:
    upload = begin(site, size=100)
    with refuses(uploads.UPLOAD_TOO_LARGE):
        append(site, upload, 0, CONTENT[:101])
    assert Upload.objects.get(pk=upload.pk).received_bytes == 0
    assert append(site, upload, 0, CONTENT[:100]).is_complete


def test_empty_and_enormous_files_are_refused_before_anything_is_sent(site: Scenario) -> None:
    with refuses(uploads.EMPTY_UPLOAD, match="0 bytes"):
        begin(site, size=0)
    with refuses(uploads.UPLOAD_TOO_LARGE, match="at most"):
        begin(site, size=settings.UPLOAD_MAX_BYTES + 1)
    assert not Upload.objects.exists()


def test_another_persons_upload_does_not_exist(site: Scenario) -> None:
    upload = begin(site)
    other = site.member(site.join())
    with pytest.raises(Upload.DoesNotExist):
        uploads.upload_append(key=upload.key, user=other, offset=0, chunks=[CONTENT], now=site.now)


def test_uploads_are_removed_after_their_time_and_what_was_stored_stays(site: Scenario) -> None:
    stale, done = begin(site), begin(site)
    whole = append(site, done, 0, CONTENT)
    later = site.now + timedelta(seconds=settings.UPLOAD_EXPIRES_S)
    with pytest.raises(uploads.UploadExpired):
        uploads.upload_append(key=stale.key, user=site.member(), offset=0, chunks=[b"x"], now=later)
    assert uploads.remove_expired_uploads(now=later - timedelta(seconds=1)) == 0
    assert uploads.remove_expired_uploads(now=later) == 2
    assert uploads.remove_expired_uploads(now=later) == 0
    assert not stale.folder.exists()
    assert StoredFile.objects.filter(pk=whole.file_id).exists()


def test_a_crash_while_an_object_is_copied_leaves_nothing_that_is_taken_for_it(
    site: Scenario, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def crash(source: Path, target: Path) -> None:
        target.write_bytes(CONTENT[:100])
        raise KeyboardInterrupt

    file = tmp_path / "file"
    content = CONTENT + b"of this test alone"
    file.write_bytes(content)
    with monkeypatch.context() as broken:
        broken.setattr(shutil, "copyfile", crash)
        with pytest.raises(KeyboardInterrupt):
            store_path(file)
    with open_stored(store_path(file)) as stored:
        assert stored.read() == content


def test_a_crash_between_the_object_and_its_row_is_mended_by_the_next_call(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(**_: object) -> None:
        raise KeyboardInterrupt

    upload = begin(site)
    with monkeypatch.context() as broken:
        broken.setattr(StoredFile.objects, "get_or_create", crash)
        with pytest.raises(KeyboardInterrupt):
            append(site, upload, 0, CONTENT)
    upload.refresh_from_db()
    assert uploads.upload_finish(upload).file_id == hashlib.sha256(CONTENT).hexdigest()


def test_equal_files_are_stored_once(site: Scenario) -> None:
    before = StoredFile.objects.count()
    for _ in range(2):
        append(site, begin(site), 0, CONTENT)
    assert StoredFile.objects.count() == before + 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.zip", "a.zip"),
        ("a\nb\x00.zip", "ab.zip"),
        ("", "upload"),
        ("x" * 300, "x" * 255),
    ],
)
def test_file_names_lose_paths_and_control_characters(given: str, expected: str) -> None:
    assert uploads.clean_file_name(given) == expected


def test_parts_lie_outside_the_served_files(site: Scenario) -> None:
    assert begin(site).folder.is_relative_to(Path(settings.UPLOADS_DIR))


def test_two_requests_at_one_offset_do_not_mix_their_bytes(site: Scenario) -> None:
    """The second comes whole while the first is still writing: one counts, and the file is its bytes."""
    upload = begin(site)

    def slow() -> Iterator[bytes]:
        yield b"x" * 1000
        append(site, upload, 0, CONTENT[:4000])
        yield b"x" * 1000

    with refuses(uploads.WRONG_OFFSET) as refusal:
        uploads.upload_append(key=upload.key, user=site.member(), offset=0, chunks=slow(), now=site.now)
    assert refusal.value.extra["expected_offset"] == 4000
    done = append(site, upload, 4000, CONTENT[4000:])
    assert done.file_id == hashlib.sha256(CONTENT).hexdigest()
    assert not upload.folder.exists()


def test_a_crash_between_the_last_byte_and_the_object_is_mended_by_the_next_call(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(path: Path, *, link: bool) -> StoredFile:
        raise KeyboardInterrupt

    upload = begin(site)
    with monkeypatch.context() as broken:
        broken.setattr(uploads, "store_path", crash)
        with pytest.raises(KeyboardInterrupt):
            append(site, upload, 0, CONTENT)
    upload.refresh_from_db()
    assert (upload.received_bytes, upload.file) == (len(CONTENT), None)
    assert uploads.upload_finish(upload).file_id == hashlib.sha256(CONTENT).hexdigest()


def test_a_full_disk_is_said_and_keeps_what_was_acknowledged(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    upload = begin(site)
    append(site, upload, 0, CONTENT[:1000])
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with refuses(uploads.STORAGE_FULL, match="disk is full"):
            append(site, upload, 1000, CONTENT[1000:])
    assert append(site, upload, 1000, CONTENT[1000:]).file_id == hashlib.sha256(CONTENT).hexdigest()


def test_one_person_begins_so_many_uploads_an_hour_and_others_are_not_concerned(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "UPLOADS_PER_HOUR", 3)
    user, other = worlds.person(), worlds.person()
    for _ in range(3):
        uploads.upload_begin(user=user, file_name="x", size_bytes=1, now=site.now)
    with refuses(uploads.TOO_MANY_UPLOADS, match="begun 3 uploads within an hour"):
        uploads.upload_begin(user=user, file_name="x", size_bytes=1, now=site.now)
    assert uploads.upload_begin(user=other, file_name="x", size_bytes=1, now=site.now).pk
    assert uploads.upload_begin(user=user, file_name="x", size_bytes=1, now=site.now + timedelta(hours=1)).pk


def test_of_two_requests_that_finish_an_upload_the_slower_finds_it_finished(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = begin(site)
    append(site, upload, 0, CONTENT[:1000])
    with monkeypatch.context() as patched:
        patched.setattr(uploads, "upload_finish", lambda whole: whole)
        append(site, upload, 1000, CONTENT[1000:])
    faster, slower = (Upload.objects.get(pk=upload.pk) for _ in range(2))
    clear, met = shutil.rmtree, []

    def slowly(folder: Path, **arguments: Any) -> None:
        min(folder.iterdir()).unlink()
        met.append(uploads.upload_finish(slower))
        clear(folder, **arguments)

    monkeypatch.setattr(shutil, "rmtree", slowly)
    assert uploads.upload_finish(faster).file == met[0].file
    assert StoredFile.objects.get(pk=hashlib.sha256(CONTENT).hexdigest()) == met[0].file
    assert not StoredFile.objects.filter(size_bytes=len(CONTENT) - 1000).exists(), "nothing is stored of a half"


@pytest.mark.parametrize("sent", [2000, len(CONTENT)], ids=["a part", "the whole"])
def test_an_upload_whose_time_is_over_while_its_bytes_come_says_so(site: Scenario, sent: int) -> None:
    def slow() -> Iterator[bytes]:
        yield CONTENT[:1000]
        assert uploads.remove_expired_uploads(now=upload.expires_at) == 1
        yield CONTENT[1000:sent]

    upload = begin(site)
    with pytest.raises(uploads.UploadExpired):
        uploads.upload_append(key=upload.key, user=site.member(), offset=0, chunks=slow(), now=site.now)
    assert not upload.folder.exists()


def test_an_upload_that_is_removed_before_it_is_submitted_says_so(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = begin(site)
    with monkeypatch.context() as patched:
        patched.setattr(uploads, "upload_finish", lambda whole: whole)
        append(site, upload, 0, CONTENT)
    stale = Upload.objects.get(pk=upload.pk)
    uploads.remove_expired_uploads(now=upload.expires_at)
    with pytest.raises(uploads.UploadExpired):
        uploads.upload_finish(stale)

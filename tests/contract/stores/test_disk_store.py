"""The behaviour of the store on a disk beyond the contract."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from competitions.resources.stores import open_store
from competitions.resources.stores.disk import DiskStore

CONTENT = b"durable"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are on the disk, in the order in which they got there."""
    paths: list[str] = []
    fsync = os.fsync

    def note_path(descriptor: int) -> None:
        paths.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note_path)
    return paths


def test_bytes_then_name_are_on_the_disk_before_a_put_returns(tmp_path: Path, synced: list[str]) -> None:
    root = tmp_path / "objects"
    DiskStore(root).put(DIGEST, io.BytesIO(CONTENT))
    folder = root / DIGEST[:2] / DIGEST[2:4]
    assert synced[-1] == str(folder), "the object's name, after its bytes"
    assert Path(synced[-2]).parent == root / "arriving"
    assert {str(tmp_path), str(root), str(folder.parent)} <= set(synced), "the names of new folders too"


def test_a_put_of_what_another_writer_has_just_named_waits_for_its_name_too(tmp_path: Path, synced: list[str]) -> None:
    store = DiskStore(tmp_path)
    store.put(DIGEST, io.BytesIO(CONTENT))
    synced.clear()
    store.put(DIGEST, io.BytesIO(CONTENT))
    assert synced == [str(tmp_path / DIGEST[:2] / DIGEST[2:4])]


def test_a_file_that_nobody_writes_to_again_is_not_copied(tmp_path: Path) -> None:
    source, store = tmp_path / "source", DiskStore(tmp_path / "objects")
    source.write_bytes(CONTENT)
    store.put(DIGEST, source, may_link=True)
    assert (tmp_path / "objects" / DIGEST[:2] / DIGEST[2:4] / DIGEST).samefile(source)


@pytest.mark.parametrize("url", ["s3://bucket", "file://host/folder", "file:objects", "objects", ""])
def test_a_url_that_names_no_store_stops_the_site(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="PODIUM_STORE_URL"):
        open_store(url)


def test_a_folder_with_spaces_can_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "all objects"
    store = open_store(folder.as_uri())
    store.put(DIGEST, io.BytesIO(CONTENT))
    assert (folder / DIGEST[:2]).is_dir()

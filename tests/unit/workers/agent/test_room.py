"""A disk that is full of unneeded files: as much room is made as a run needs, and no more."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.workers.agent.test_archives_and_commands import packed
from workers.agent.host.cache import StagingCache
from workers.agent.service import Service
from workers.errors import SandboxError
from workers.protocol.jobs import FileRef
from workers.sandbox import output_volume
from workers.sandbox.output_volume import OutputVolume, no_room

SIZE_BYTES = 100_000
DISK_BYTES = 450_000  # four files of that size, and what the cache writes about each


class Disk:
    """A cache on a disk of this size, and files that fill it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = StagingCache(folder, max_bytes=1 << 40)
        self.cache.free_bytes = self.free_bytes  # type: ignore[method-assign]  # a disk of its own

    def free_bytes(self) -> int:
        used = sum(path.lstat().st_size for path in self.folder.rglob("*") if path.is_file())
        return DISK_BYTES - used

    def write(self, path: Path, content: bytes) -> None:
        if self.free_bytes() < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        path.write_bytes(content)

    def acquire(self, content: bytes, *, unpacked: bool = False, used_at: float | None = None) -> str:
        """The key of a file with this content."""
        digest = hashlib.sha256(content).hexdigest()
        file = FileRef(url="http://x", sha256=digest, size_bytes=len(content), name="data")
        key, path = self.cache.acquire(
            file, unpacked=unpacked, secret=False, fetch=lambda _, target: self.write(target, content)
        )
        if used_at is not None:
            os.utime(path.parent, (used_at, used_at))
        return key

    def fill(self) -> list[str]:
        """Four files that no run needs, the one that was used longest ago first."""
        keys = [self.acquire(bytes([number]) * SIZE_BYTES, used_at=number) for number in (1, 2, 3, 4)]
        for key in keys:
            self.cache.release(key)
        return keys

    def has(self, key: str) -> bool:
        return (self.folder / key).is_dir()


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_a_file_takes_the_place_of_what_was_used_longest_ago(disk: Disk) -> None:
    keys = disk.fill()
    new = disk.acquire(b"x" * SIZE_BYTES)
    assert [disk.has(key) for key in [*keys, new]] == [False, True, True, True, True]


def test_an_archive_has_room_for_what_is_in_it(disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> None:
    keys = disk.fill()
    archive = packed(tmp_path_factory.mktemp("packed") / "a.zip", {"zeros": bytes(2 * SIZE_BYTES)})
    new = disk.acquire(archive.read_bytes(), unpacked=True)
    assert [disk.has(key) for key in [*keys, new]] == [False, False, True, True, True]


def test_what_runs_need_stays_and_a_disk_without_room_says_so(disk: Disk) -> None:
    first = disk.fill()[0]
    assert disk.acquire(b"\1" * SIZE_BYTES) == first
    with pytest.raises(OSError, match="No space left"):
        disk.acquire(b"x" * (4 * SIZE_BYTES))
    assert disk.has(first)


def test_nothing_goes_for_what_the_disk_can_never_hold(disk: Disk) -> None:
    keys = disk.fill()
    with pytest.raises(OSError, match="No space left"):
        disk.acquire(b"x" * (2 * DISK_BYTES))
    disk.acquire(b"\1" * SIZE_BYTES)
    with pytest.raises(OSError, match="No space left"):
        disk.acquire(b"x" * (4 * SIZE_BYTES))
    assert all(disk.has(key) for key in keys)


def test_nothing_goes_while_adopted_runs_have_not_acquired_their_files(disk: Disk) -> None:
    keys = disk.fill()
    disk.cache.may_make_room = lambda: False
    with pytest.raises(OSError, match="No space left"):
        disk.acquire(b"x" * SIZE_BYTES)
    assert all(disk.has(key) for key in keys)


def test_a_worker_makes_no_room_before_all_that_it_adopts_hold_their_files(disk: Disk) -> None:
    host = SimpleNamespace(model_copy=lambda update: None)
    worker: Any = SimpleNamespace(slots=1, host=host, stopping=threading.Event(), cache=disk.cache)
    config: Any = SimpleNamespace(until_idle_s=0)
    service = Service(config, worker, ())
    service._held.adopting("lease", True)
    assert not disk.cache.may_make_room()
    service._held.adopting("lease", False)
    assert disk.cache.may_make_room()


def test_what_somebody_else_has_dropped_meanwhile_is_no_error(disk: Disk) -> None:
    keys = disk.fill()
    assert [disk.cache._drop(keys[0]), disk.cache._drop(keys[0])] == [True, False]


@pytest.fixture
def allocations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes that were asked of a disk that is full the first time."""
    sizes: list[int] = []

    def allocate(descriptor: int, offset: int, size: int) -> None:
        sizes.append(size)
        if len(sizes) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def run(*argv: str) -> None:
        if argv[0] == "mount":
            (Path(argv[-1]) / "lost+found").mkdir()

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    monkeypatch.setattr(output_volume, "_run", run)
    return sizes


def volume_in(folder: Path, make_room: Any) -> OutputVolume:
    return OutputVolume(
        folder, "output", size_bytes=1 << 20, files=10, quota=True, executable=True, make_room=make_room
    )


def test_an_output_asks_for_the_room_that_it_takes_and_is_made_then(tmp_path: Path, allocations: list[int]) -> None:
    allocated: list[int] = []
    volume_in(tmp_path, allocated.append).create()
    assert allocations == allocated * 2
    assert allocated[0] > 1 << 20


def test_an_output_that_finds_no_room_is_the_workers_failure(
    tmp_path: Path, allocations: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        allocations.append(0)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(SandboxError) as error:
        volume_in(tmp_path, no_room).create()
    assert (error.value.code, len(allocations)) == ("disk_full", 2)
    assert list(tmp_path.iterdir()) == []

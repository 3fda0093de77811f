"""Input files on the worker's disk, unpacked once, kept by digest, read-only to containers."""

import contextlib
import ctypes
import hashlib
import os
import shutil
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from workers.agent.host.facts import boot_id, missing_inodes
from workers.agent.runs.archive import unpack
from workers.protocol.jobs import FileRef
from workers.sandbox.collect import BLOCK_BYTES
from workers.sandbox.output_volume import remove_tree

SETTLED = "settled"
Fetch = Callable[[FileRef, Path], None]
Make = Callable[[Path], None]


class StagingCache:
    """Folders by content: `open/` for every stage, `secret/` for scoring alone.

    Both lie behind a folder that only the worker's user may enter; the engine, which is root, mounts what is inside.

    An entry is used after a start of the host only when `settle` had seen it to the disk: a power cut leaves files of the
    right names with holes in them, which nobody would notice.

    `trim` drops what no run needs while more than `max_bytes` are kept, or less than `reserve_bytes`, or too few inodes,
    are free. `may_make_room` is set later where not every run has acquired yet what it uses: `make_room` drops nothing
    until it says so. `boot` changes with every start of the host.
    """

    def __init__(self, folder: Path, *, max_bytes: int, reserve_bytes: int = 0, boot: str | None = None) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._reserve_bytes = reserve_bytes
        self._boot = boot_id() if boot is None else boot
        self._lock = threading.Lock()
        self._filling: dict[str, threading.Lock] = {}
        self._in_use: Counter[str] = Counter()
        self.may_make_room: Callable[[], bool] = lambda: True
        for name in ("open", "secret", "incoming"):
            (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / name).chmod(0o700)
        for leftover in [*(folder / "incoming").iterdir(), *self._doubtful()]:
            remove_tree(leftover)

    def _doubtful(self) -> list[Path]:
        """Entries that may have lost content when the host went down."""
        entries = [entry for kind in ("open", "secret") for entry in (self._folder / kind).iterdir()]
        return [entry for entry in entries if self._entry_boot(entry) not in (self._boot, SETTLED)]

    @staticmethod
    def _entry_boot(entry: Path) -> str:
        try:
            return (entry / "boot").read_text()
        except OSError:
            return ""

    def settle(self) -> int:
        """Have the kernel write out new entries; returns how many there are. Raises `OSError`."""
        keys = [key for key, _, _ in self._entries()]
        fresh = [self._folder / key for key in keys if self._entry_boot(self._folder / key) == self._boot]
        if not fresh:
            return 0
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(descriptor)
        for entry in fresh:
            with contextlib.suppress(FileNotFoundError):  # dropped meanwhile
                replaced = entry / "boot.new"
                replaced.write_text(SETTLED)
                replaced.replace(entry / "boot")
        return len(fresh)

    def acquire(self, file: FileRef, *, unpacked: bool, secret: bool, fetch: Fetch) -> tuple[str, Path]:
        """The key and the folder of a file's content, fetched where it is not there. Pair with `release`.

        `fetch(file, path)` puts the verified file at `path`. Raises what `fetch` and `unpack` raise; then nothing is kept.
        """
        key = self._key(file, unpacked=unpacked, secret=secret)
        return self._acquire(key, lambda incoming: self._fetch_file(incoming, file, unpacked, fetch))

    def acquire_made(self, name: str, make: Make) -> tuple[str, Path]:
        """The key and the folder of what `make` makes at a path, unless it is there; as `acquire`.

        `name` says all that decides the content. Files that `make` leaves beside that path are removed afterwards.
        """
        return self._acquire(f"open/{name}-made", lambda incoming: make(incoming / "tree"))

    def _acquire(self, key: str, fill: Make) -> tuple[str, Path]:
        with self._lock:
            self._in_use[key] += 1
            filling = self._filling.setdefault(key, threading.Lock())
        try:
            with filling:
                entry = self._folder / key
                if not (entry / "tree").is_dir():
                    self._fill(entry, fill)
                os.utime(entry)
        except BaseException:
            self.release(key)
            raise
        return key, entry / "tree"

    def release(self, key: str) -> None:
        """The run that needed `key` is over."""
        with self._lock:
            self._in_use[key] -= 1
            if self._in_use[key] <= 0:
                del self._in_use[key]
                del self._filling[key]  # or one would be kept for every file that ever came

    @staticmethod
    def _key(file: FileRef, *, unpacked: bool, secret: bool) -> str:
        # The name is part of what is shown when the file is not unpacked.
        form = "zip" if unpacked else hashlib.sha256(file.name.encode()).hexdigest()[:16]
        return f"{'secret' if secret else 'open'}/{file.sha256}-{form}"

    def _fetch_file(self, incoming: Path, file: FileRef, unpacked: bool, fetch: Fetch) -> None:
        self.make_room(file.size_bytes)
        download = incoming / "download"
        descriptor = os.open(download, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.close(descriptor)
        fetch(file, download)
        if unpacked:
            unpack(download, incoming / "tree", make_room=self.make_room)
            download.unlink()
        else:
            (incoming / "tree").mkdir(mode=0o755)
            download.chmod(0o644)
            download.rename(incoming / "tree" / file.name)

    def _fill(self, entry: Path, fill: Make) -> None:
        incoming = self._folder / "incoming" / uuid.uuid4().hex
        incoming.mkdir(mode=0o700)
        try:
            fill(incoming)
            for beside in incoming.iterdir():
                if beside.name != "tree":
                    remove_tree(beside)
            (incoming / "size").write_text(str(_disk_bytes(incoming)))
            (incoming / "boot").write_text(self._boot)
            incoming.rename(entry)  # whole or not at all
        finally:
            remove_tree(incoming)

    def trim(self) -> int:
        """Delete entries used longest ago until cap and reserve hold. Returns the bytes freed.

        Entries that runs need stay.
        """
        entries = sorted(self._entries(), key=lambda entry: entry[1])
        excess = sum(size for _, _, size in entries) - self._max_bytes
        excess = max(excess, self._reserve_bytes - self.free_bytes())
        freed = 0
        for key, _, size in entries:
            if freed >= excess and not self.missing_inodes():
                break
            freed += size if self._drop(key) else 0
        return freed

    def make_room(self, needed_bytes: int) -> None:
        """Delete entries used longest ago until so many bytes are free on the disk.

        Nothing is deleted where all of them would not be enough.
        """
        if self.free_bytes() >= needed_bytes or not self.may_make_room():
            return
        entries = sorted(self._entries(), key=lambda entry: entry[1])
        if self.free_bytes() + sum(size for key, _, size in entries if not self._in_use[key]) < needed_bytes:
            return
        for key, _, _ in entries:
            if self.free_bytes() >= needed_bytes:
                break
            self._drop(key)

    def _entries(self) -> list[tuple[str, float, int]]:
        """Key, time of last use and bytes of every entry."""
        entries = []
        for kind in ("open", "secret"):
            for entry in (self._folder / kind).iterdir():
                with contextlib.suppress(OSError, ValueError):
                    entries.append((f"{kind}/{entry.name}", entry.stat().st_mtime, int((entry / "size").read_text())))
        return entries

    def _drop(self, key: str) -> bool:
        with self._lock:
            if self._in_use[key] > 0 or not (self._folder / key).is_dir():
                return False
            doomed = self._folder / "incoming" / f"old-{uuid.uuid4().hex}"
            (self._folder / key).rename(doomed)
        remove_tree(doomed)
        return True

    def free_bytes(self) -> int:
        """Free space of the disk that the cache lies on."""
        return shutil.disk_usage(self._folder).free

    def missing_inodes(self) -> int:
        """The number of inodes that the disk lacks for its reserve."""
        return missing_inodes(self._folder)


def _disk_bytes(folder: Path) -> int:
    return sum(max(BLOCK_BYTES, path.lstat().st_blocks * 512) for path in folder.rglob("*"))

"""`/app/output` of one stage: a file system of fixed size, so that a quota bounds it and not watching."""

import contextlib
import ctypes
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from workers.engines.spec import DEFAULT_UID
from workers.errors import SandboxError
from workers.sandbox.collect import MAX_DEPTH, open_folder

log = structlog.get_logger(__name__)

MNT_DETACH = 2  # of umount2(2)
# Of mount(2). NOSYMFOLLOW came with Linux 5.10; older kernels ignore it.
NOSUID, NODEV, NOEXEC, REMOUNT, NOSYMFOLLOW, NOATIME, BIND = 0x2, 0x4, 0x8, 0x20, 0x100, 0x400, 0x1000
LOOKS = 3  # at a folder whose rights come and go
BLOCK_BYTES = 4096
INODE_BYTES = 256
SPARE_INODES = 64  # directories, and the eleven that ext4 keeps for itself
FULL_BELOW_BLOCKS = 8  # an allocator may leave a few blocks it cannot use
SLACK_BYTES = 4 << 20  # a write of up to 2 MiB fails as a whole: at that moment at least `size_bytes` must be in use
MOUNT_OPTIONS = "loop,nodev,nosuid,noexec,noatime"
MakeRoom = Callable[[int], None]


def no_room(needed_bytes: int) -> None:
    """Free nothing: no file on this disk can be spared."""


@dataclass(frozen=True)
class Usage:
    """Bytes in use on the output, and whether space or inodes ran out.

    `hidden` is the path of what the worker may not look at, empty for the output itself: what is in there counts nowhere.
    """

    used_bytes: int
    full: bool
    no_inodes: bool
    hidden: str | None = None
    too_deep: bool = False


class OutputVolume:
    """One output folder at `path`: loop-mounted ext4 where the host allows it, else a watched folder.

    `make_room` is called with the bytes that it takes where the disk is too full for them.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        size_bytes: int,
        files: int,
        quota: bool,
        executable: bool = False,
        owner: int = DEFAULT_UID,
        make_room: MakeRoom = no_room,
    ) -> None:
        self.path = folder / name
        self.size_bytes = size_bytes
        self.files = files
        self.quota = quota
        self.owner = owner
        self._executable = executable
        self._make_room = make_room
        self._image = folder / f"{name}.img"

    def create(self) -> None:
        """Make it, empty and owned by the container's user.

        Raises `SandboxError` (`disk_full` or `output_volume`); nothing is left behind.
        """
        self.path.mkdir(parents=True)
        try:
            if self.quota:
                self._make_file_system()
            else:
                self.path.chmod(0o777)
        except (OSError, subprocess.SubprocessError) as error:
            self.destroy()
            code = "disk_full" if isinstance(error, OSError) and error.errno == errno.ENOSPC else "output_volume"
            raise SandboxError(code, f"the output file system could not be made: {_words(error)}") from error

    def _make_file_system(self) -> None:
        inodes = self.files + SPARE_INODES
        # Room for ext4's own tables, so that a program can really write `size_bytes`.
        total = self.size_bytes + inodes * (INODE_BYTES + 16) + self.size_bytes // 100 + SLACK_BYTES
        self._allocate_or_make_room(total)
        features = "^has_journal,^resize_inode"  # it never outlives one run
        extended = f"nodiscard,lazy_itable_init=1,root_owner={self.owner}:{self.owner}"
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-b", str(BLOCK_BYTES), "-I", str(INODE_BYTES), "-N", str(inodes),
             "-O", features, "-E", extended, str(self._image))  # fmt: skip
        options = MOUNT_OPTIONS.replace("noexec,", "") if self._executable else MOUNT_OPTIONS
        _run("mount", "-t", "ext4", "-o", options, str(self._image), str(self.path))
        (self.path / "lost+found").rmdir()
        if not self._executable:
            _follow_no_links(self.path)

    def _allocate_or_make_room(self, total: int) -> None:
        try:
            self._allocate(total)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            self._image.unlink()  # it holds what there was
            self._make_room(total)
            self._allocate(total)

    def _allocate(self, total: int) -> None:
        """Take the bytes from the host's disk now, not when they are written."""
        with self._image.open("wb") as image:
            os.posix_fallocate(image.fileno(), 0, total)

    def exists(self) -> bool:
        """True if it is there, as an earlier process left it."""
        return self.path.is_dir() and (not self.quota or os.path.ismount(self.path))

    def usage(self) -> Usage:
        """The use at this moment.

        Without a quota the files are counted, which a hostile program can outrun.
        """
        if not self.quota:
            return self._count_files()
        facts = os.statvfs(self.path)
        used = (facts.f_blocks - facts.f_bfree) * facts.f_frsize
        full = used >= self.size_bytes or facts.f_bavail < FULL_BELOW_BLOCKS
        return Usage(used, full=full, no_inodes=facts.f_favail == 0)

    def _count_files(self) -> Usage:
        """Count the files, again where one is hidden: a program may have been about to set its rights."""
        for _ in range(LOOKS):
            count = _Count(self.path)
            if count.hidden is None:
                break
        full, no_inodes = count.used_bytes > self.size_bytes, count.entries > self.files + SPARE_INODES
        return Usage(count.used_bytes, full=full, no_inodes=no_inodes, hidden=count.hidden, too_deep=count.too_deep)

    def bytes_written(self, usage: Usage) -> int | None:
        """Bytes that went to the output so far, overwritten and deleted ones included; None without quota.

        It is what the file system has sent to its device, and what it still holds back; at least what is in use now. Cheap: no
        `sync`. Elsewhere a program can write to memory alone, which the memory meter counts.
        """
        if not self.quota:
            return None
        device = self.path.stat().st_dev
        name = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve().name
        counters = Path("/sys/fs/ext4") / name  # since the file system was mounted
        try:
            written = int((counters / "session_write_kbytes").read_text()) << 10
            delayed = int((counters / "delayed_allocation_blocks").read_text()) * BLOCK_BYTES
        except (OSError, ValueError):
            return None
        return max(usage.used_bytes, written + delayed)

    def destroy(self) -> None:
        """Unmount and delete; whatever names, modes and depths are inside."""
        if os.path.ismount(self.path):
            _unmount(self.path)
        self._image.unlink(missing_ok=True)
        remove_tree(self.path)


def _unmount(path: Path) -> None:
    """Unmount lazily: a container that is being removed may still hold it.

    This is the system call itself: each run ends with two.
    """
    if ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(path), MNT_DETACH) != 0:
        log.warning("not_unmounted", detail=f"{path}: {os.strerror(ctypes.get_errno())}")


def _follow_no_links(path: Path) -> None:
    """Mount the folder so that no link in it leads anywhere, for anybody.

    This is the system call itself, as mount(8) may be older than the kernel. The flag goes with the mount into each container.
    """
    flags = REMOUNT | BIND | NOSUID | NODEV | NOEXEC | NOATIME | NOSYMFOLLOW
    if ctypes.CDLL(None, use_errno=True).mount(None, os.fsencode(path), None, ctypes.c_ulong(flags), None) != 0:
        log.warning("links_are_followed", detail=f"{path}: {os.strerror(ctypes.get_errno())}")


def remove_tree(path: Path) -> None:
    """Delete a folder of any depth; `rm` copes where a recursive walk in Python does not.

    What resists is logged, and left.
    """
    with contextlib.suppress(OSError):
        path.rmdir()  # mostly it is an empty mount point
    remove = ("rm", "-rf", "--one-file-system", "--", str(path))
    give_rights = ("chmod", "-R", "u+rwX", "--", str(path))  # that a program took from the folders; root needs none
    for command in (remove, give_rights, remove):
        if not path.exists():
            return
        done = subprocess.run(command, check=False, capture_output=True)
    if path.exists():
        log.warning("not_removed", detail=done.stderr.decode(errors="replace")[:200])


def loop_mounts_work(folder: Path) -> bool:
    """Try one small output volume: True when this host can bound outputs by a real file system."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        return False
    with tempfile.TemporaryDirectory(prefix="probe-", dir=folder) as probe:
        volume = OutputVolume(Path(probe), "output", size_bytes=1 << 20, files=16, quota=True)
        try:
            volume.create()
        except SandboxError:
            return False
        works = os.path.ismount(volume.path)
        volume.destroy()
        return works


class _Count:
    """Bytes and entries below a folder that a program may change meanwhile.

    They are counted by descriptors, so that no link leads out of it.
    """

    def __init__(self, folder: Path) -> None:
        self.used_bytes = 0
        self.entries = 0
        self.too_deep = False
        self.hidden: str | None = None
        self._look_into(folder, None, "", 0)

    def _look_into(self, name: str | Path, parent: int | None, path: str, depth: int) -> None:
        try:
            descriptor = open_folder(name, parent)
        except PermissionError:
            self.hidden = path
            return
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    self.entries += 1
                    with contextlib.suppress(OSError):  # it may vanish while we look
                        self._look_at(entry, descriptor, f"{path}/{entry.name}" if path else entry.name, depth)
        finally:
            os.close(descriptor)

    def _look_at(self, entry: os.DirEntry[str], folder: int, path: str, depth: int) -> None:
        if not entry.is_dir(follow_symlinks=False):
            self._weigh(entry, path)
        elif depth >= MAX_DEPTH:
            self.too_deep = True  # refused in the end in any case; what lies deeper cannot be watched
        else:
            self._look_into(entry.name, folder, path, depth + 1)

    def _weigh(self, entry: os.DirEntry[str], path: str) -> None:
        try:
            self.used_bytes += entry.stat(follow_symlinks=False).st_blocks * 512
        except PermissionError:
            self.hidden = path


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def _words(error: BaseException) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        stderr: bytes = error.stderr or b""
        return stderr.decode(errors="replace").strip() or str(error)
    return str(error)

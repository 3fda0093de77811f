"""Out-of-memory kills of cgroup v1.

It keeps no count of them in a group that outlives the container. The limit that counts is set on the container's parent group, by the
worker; the container's own is a little higher. So the kernel reports each kill to whoever watches the parent, and no removal of a group
is taken for one.
"""

import os
import threading
from pathlib import Path

from workers.engines.cgroup import CGROUP_ROOT, Cgroup
from workers.errors import SandboxError


class KillWatch:
    """Watches the memory of groups. Safe to share between threads."""

    def __init__(self, root: Path = CGROUP_ROOT) -> None:
        self._memory = root / "memory"
        self._events: dict[str, int] = {}
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, cgroup: Cgroup, limit_bytes: int) -> None:
        """Make the group, with its limit, and watch it; once more after a restart of the worker.

        Raises `SandboxError`, `engine_error`, where this process may not write to the control groups.
        """
        folder = self._memory / cgroup.path
        with self._lock:
            if str(cgroup.path) in self._events:
                return
            try:
                folder.mkdir(parents=True, exist_ok=True)
                _set_limit(folder, limit_bytes)
                self._events[str(cgroup.path)] = _watch(folder)
            except OSError as error:
                raise SandboxError(
                    "engine_error",
                    f"with cgroup v1 the worker itself limits the memory of Podman's containers, and cannot: {error}",
                ) from error

    def has_killed(self, cgroup: Cgroup) -> bool | None:
        """True if the kernel killed a process in this group since `begin`; None where nobody watched."""
        key = str(cgroup.path)
        with self._lock:
            event = self._events.get(key)
            if event is None:
                return None
            if _count(event):
                self._seen.add(key)
            return key in self._seen

    def has_met_limit(self, cgroup: Cgroup) -> bool:
        """True if the group ever wanted more than its limit; all that is left of kills that nobody watched."""
        try:
            return int((self._memory / cgroup.path / "memory.failcnt").read_text()) > 0
        except (OSError, ValueError):
            return False

    def end(self, cgroup: Cgroup) -> None:
        """Forget the group."""
        key = str(cgroup.path)
        with self._lock:
            self._seen.discard(key)
            event = self._events.pop(key, None)
        if event is not None:
            os.close(event)


def _set_limit(folder: Path, limit_bytes: int) -> None:
    (folder / "memory.limit_in_bytes").write_text(str(limit_bytes))
    swap = folder / "memory.memsw.limit_in_bytes"
    if swap.exists():
        swap.write_text(str(limit_bytes))


def _watch(folder: Path) -> int:
    """A counter of the kernel's that grows with each kill."""
    event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    try:
        control = os.open(folder / "memory.oom_control", os.O_RDONLY | os.O_CLOEXEC)
        try:
            (folder / "cgroup.event_control").write_text(f"{event} {control}")
        finally:
            os.close(control)
    except OSError:
        os.close(event)
        raise
    return event


def _count(event: int) -> int:
    try:
        return os.eventfd_read(event)
    except BlockingIOError:
        return 0

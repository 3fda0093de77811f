"""CPU time and peak memory of a stage, from a control group that outlives the container."""

import contextlib
import time
from pathlib import Path

from workers.engines.base import Usage
from workers.protocol.limits import MIB

CGROUP_ROOT = Path("/sys/fs/cgroup")
HOST_COUNTERS = Path("/proc/vmstat")
SLACK_BYTES = 8 * MIB  # more than the kernel takes at a time, a huge page included: nearer to a limit, it was met
REMOVE_PAUSES_S = (0.0, 0.01, 0.04, 0.1)  # the kernel lets go of a dead container's group a little late


class Cgroup:
    """The parent group of one container. The engine makes it; sums stay in it after the container is gone."""

    def __init__(self, name: str, *, version: str, driver: str, root: Path = CGROUP_ROOT, base: str = "") -> None:
        self.version = version
        self.root = root
        # The systemd driver takes the name of a slice; `podium-x.slice` lies inside `podium.slice`. `base`: below which a user's own lie.
        place = Path(base, "podium", name)
        self.parent = f"podium-{name}.slice" if driver == "systemd" else f"/{place}"
        self.path = Path(base, "podium.slice", self.parent) if driver == "systemd" else place

    def read(self) -> Usage:
        """Read the sums. Cheap (four small files), safe at any time."""
        return self._read_v1() if self.version == "v1" else self._read_v2()

    def _read_v1(self) -> Usage:
        memory = self.root / "memory" / self.path
        nanoseconds = _integer(self.root / "cpuacct" / self.path / "cpuacct.usage")
        return Usage(
            cpu_s=None if nanoseconds is None else nanoseconds / 1e9,
            memory_bytes=_integer(memory / "memory.usage_in_bytes"),
            memory_peak_bytes=_integer(memory / "memory.max_usage_in_bytes"),
            oom_kills=_named_integers(memory / "memory.oom_control").get("oom_kill"),
        )

    def _read_v2(self) -> Usage:
        folder = self.root / self.path
        microseconds = _named_integers(folder / "cpu.stat").get("usage_usec")
        return Usage(
            cpu_s=None if microseconds is None else microseconds / 1e6,
            memory_bytes=_integer(folder / "memory.current"),
            memory_peak_bytes=_integer(folder / "memory.peak"),
            oom_kills=_named_integers(folder / "memory.events").get("oom_kill"),
        )

    def remove(self) -> bool:
        """Remove the group from every hierarchy if it is empty; True if there was one.

        So it is never removed under a running container.
        """
        left = there = [folder for folder in self._folders() if folder.exists()]
        for pause_s in REMOVE_PAUSES_S:
            if not left:
                break
            time.sleep(pause_s)
            left = [folder for folder in left if not _remove_folder(folder)]
        return len(left) < len(there)  # what is left the janitor looks at again

    def _folders(self) -> list[Path]:
        if self.version != "v1":
            return [self.root / self.path]
        with contextlib.suppress(OSError):
            return [controller / self.path for controller in self.root.iterdir()]
        return []


def group_names(key: str, base: str = "") -> set[str]:
    """Names of the groups with this word in them, in every hierarchy and of either driver."""
    own = Path(base)
    parents = {
        CGROUP_ROOT / own / "podium.slice",
        CGROUP_ROOT / own / "podium",
        *CGROUP_ROOT.glob(f"*/{own / 'podium'}"),
    }
    folders = (path.name for parent in parents if parent.is_dir() for path in parent.iterdir() if key in path.name)
    return {name.removeprefix("podium-").removesuffix(".slice") for name in folders}


def _remove_folder(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # the engine is still leaving it
        return False
    return True


def host_oom_kills() -> int:
    """Processes of this host that the kernel ended for want of memory since it started, in any group."""
    return _named_integers(HOST_COUNTERS).get("oom_kill", 0)


def _integer(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _named_integers(path: Path) -> dict[str, int]:
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}

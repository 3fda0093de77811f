"""The container of one stage, in words of no engine's own: image, mounts, limits and user.

Each slot has a user, so that no two runs share a limit that the kernel keeps per user.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workers.engines.images import NO_IMAGE, ImageFacts
from workers.protocol.limits import Limits

OUTPUT_TARGET = "/app/output"
SHARED_TARGET = "/app/shared"
WORKING_DIR = "/app/program"
MAX_OPEN_FILES = 16384
DEFAULT_UID = 10001
FIRST_UID = 20_000
UIDS_PER_WORKER = 256  # as many as a worker may have slots
WORKERS = 150  # the last user lies below 65,536, where the user namespace of an engine ends


@dataclass(frozen=True)
class Runner:
    """A user as its container sees it, and as the host does.

    An engine with user namespaces moves all users by `offset`.
    """

    uid: int = DEFAULT_UID
    offset: int = 0

    @property
    def host_uid(self) -> int:
        """The owner of the files on the host."""
        return self.offset + self.uid

    @property
    def as_user(self) -> str:
        """The engine's `User`."""
        return f"{self.uid}:{self.uid}"


DEFAULT_RUNNER = Runner()


def slot_uid(worker_key: str, slot: int) -> int:
    """The user of one slot.

    Inotify instances, pipes, message queues, pending signals and processes are counted per user. Two workers of one host get ranges of
    their own, unless their keys happen to fall together (1 in 150).

    >>> slot_uid("00000000", 0), slot_uid("00000000", 3)
    (20000, 20003)
    """
    return FIRST_UID + int(worker_key, 16) % WORKERS * UIDS_PER_WORKER + slot % UIDS_PER_WORKER


@dataclass(frozen=True)
class Mount:
    """A folder of the host, shown at `target` in the container; read-only, unless it is the run's own."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class StageSpec:
    """The specification of one container.

    A restarted worker finds it by `labels`; its use of resources is counted under `group`. `plain_files`: its programs can make
    neither links nor pipes with a name, for the sake of whoever reads what they write.
    """

    name: str
    image: str
    argv: tuple[str, ...]
    mounts: tuple[Mount, ...]
    output: Path
    limits: Limits
    labels: Mapping[str, str]
    group: str
    gpu_uuid: str | None = None
    runtime: str = ""  # empty: the engine's own
    cpuset: str = ""  # cores, as in `0,1`; empty: any
    network: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    image_facts: ImageFacts = NO_IMAGE
    runner: Runner = DEFAULT_RUNNER
    open_files: int = MAX_OPEN_FILES
    plain_files: bool = False

"""A container engine as a worker uses it.

`tests/contract/engines` holds the sentences that every engine must make true.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from workers.engines.images import ImageFacts
from workers.engines.spec import StageSpec
from workers.protocol.hosts import HeldLimit, Isolation
from workers.protocol.jobs import PullPolicy

GVISOR: Final = "runsc"


def never() -> bool:
    """False: the call goes on to its end."""
    return False


@dataclass(frozen=True)
class EngineFacts:
    """The engine's description of itself, its host and its abilities."""

    name: str
    version: str
    cgroup_version: str  # "v1" or "v2"
    cgroup_driver: str
    operating_system: str
    kernel: str
    storage_driver: str
    user_namespaces: bool = False  # root inside is nobody outside
    user_offset: int = 0  # the host's user that is user 0 inside; above 0 with user namespaces alone
    runtimes: tuple[str, ...] = ()
    filter_digest: str = ""  # of the rules by which system calls are filtered
    root: str = ""  # its folder on its host
    rootless: bool = False  # it runs as a user without rights
    unheld: tuple[HeldLimit, ...] = ()  # what its host lets it hold nobody to

    def isolations(self, runtime: str) -> tuple[Isolation, ...]:
        """The isolations that a worker with this runtime has; one that runs everything in gVisor has both."""
        sandboxed = GVISOR in (runtime, *self.runtimes)
        return (Isolation.STANDARD, Isolation.SANDBOXED) if sandboxed else (Isolation.STANDARD,)

    def filters_calls(self, runtime: str) -> bool:
        """True where a container in this runtime can be refused single system calls.

        gVisor answers them itself, by rules of its own.
        """
        return bool(self.filter_digest) and runtime != GVISOR


@dataclass(frozen=True)
class ContainerState:
    """The state of one container. Times are by the engine's wall clock; None before the event."""

    id: str
    status: str  # created, running, exited, dead, ...
    exit_code: int
    oom_killed: bool
    started_at: datetime | None
    finished_at: datetime | None
    labels: Mapping[str, str]

    @property
    def never_started(self) -> bool:
        """Created, and nothing more."""
        return self.started_at is None

    @property
    def ended(self) -> bool:
        """True once all of its processes are gone."""
        return self.started_at is not None and self.status in ("exited", "dead")


@dataclass(frozen=True)
class Usage:
    """Seconds of CPU of all processes so far; bytes now and at the peak, page cache included.

    None where that is not known.
    """

    cpu_s: float | None
    memory_bytes: int | None
    memory_peak_bytes: int | None
    oom_kills: int | None


class Engine(Protocol):
    """One engine on this host. Safe to share between threads. It raises no error but `SandboxError`.

    A container is prepared, started, waited for, observed and removed, by the id that `prepare` gave or by its name. Its use of
    resources is kept under the `group` of its specification, until that is released.
    """

    def facts(self) -> EngineFacts:
        """Ask the engine about itself."""

    def ping(self) -> None:
        """Raise `engine_unreachable` unless the engine answers."""

    def ensure_image(
        self, image: str, policy: PullPolicy, stop: Callable[[], bool] = never, max_bytes: int = 0
    ) -> ImageFacts:
        """Have an image on this host.

        Raises `image_missing`, `image_pull_failed`, `image_unknown` where the registry says that it has none such,
        `image_too_large` as soon as more than `max_bytes` (0: any) is pulled, or `staging_stopped` where `stop` said so.
        """

    def find_image(self, image: str) -> ImageFacts | None:
        """An image of this host; None when it is not there."""

    def image_entries(self, image: str, at_most: int) -> int | None:
        """The number of the image's files and folders on this host, counted to one more than `at_most`.

        None where an engine cannot tell.
        """

    def load_image(self, chunks: Iterator[bytes]) -> None:
        """Take an image without a name from a tar as `docker save` writes it.

        Raises `image_not_loaded`, or `engine_error` where the host is at fault.
        """

    def remove_image(self, image: str) -> None:
        """Remove an image without a name, or the name; no error when it is gone.

        Raises `engine_error` while a container is of it.
        """

    def image_names(self) -> tuple[str, ...]:
        """Every name under which an image is on this host: `repository:tag` and `repository@digest`."""

    def prepare(self, spec: StageSpec) -> str:
        """Create a container and return its id. A name in use gives the container that has it.

        So nothing starts twice. Raises `image_unsuitable` for an image that would write to the host's disk without an end.
        """

    def adopt(self, name: str) -> ContainerState:
        """The container that a predecessor of this process prepared. Raises `container_missing`."""

    def start(self, container: str) -> None:
        """Start it; returns when its first process runs."""

    def wait(self, container: str, stop: Callable[[], bool] = never) -> None:
        """Block until the container is not running, or until `stop` says so.

        `stop` is called at least once a minute. Raises `engine_unreachable` when the engine goes away.
        """

    def observe(self, container: str) -> ContainerState:
        """The engine's word on the container. Raises `container_missing`."""

    def usage(self, group: str) -> Usage:
        """The use by the container of this group so far, also after its end. Cheap, and never an error."""

    def kill(self, container: str) -> None:
        """End all of it at once; no error when it has ended already."""

    def was_out_of_memory(self, spec: StageSpec, state: ContainerState) -> bool:
        """True if the kernel ended a process of this container, which has ended, for its memory.

        `state` may not say so: the engine may hear of it after the end.
        """

    def was_signalled(self, container: str, since: datetime) -> bool:
        """True if the engine was told to kill or stop the container since then; it forgets after a while."""

    def collect(self, container: str, *, follow: bool, tail: int | None = None) -> Generator[bytes]:
        """The container's standard output and error, in order, in pieces; `close()` ends it.

        Only a program may keep it waiting.
        """

    def remove(self, container: str) -> None:
        """Remove the container with all that the engine keeps for it, killing it first.

        No error when it is gone already.
        """

    def release(self, group: str) -> bool:
        """Forget the use under this group, unless a container still runs in it; False if there was none."""

    def groups(self, key: str) -> Collection[str]:
        """The groups with this word in their name that were not released."""

    def list(self, labels: Mapping[str, str]) -> Collection[str]:
        """Ids of all containers, running or not, with these labels."""

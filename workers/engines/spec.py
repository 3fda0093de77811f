"""The container of one stage, in words of no engine's own: image, mounts, limits and user."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workers.engines.images import NO_IMAGE, ImageFacts
from workers.engines.users import DEFAULT_RUNNER, Runner
from workers.protocol.limits import Limits

OUTPUT_TARGET = "/app/output"
SHARED_TARGET = "/app/shared"
WORKING_DIR = "/app/program"
MAX_OPEN_FILES = 16384


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

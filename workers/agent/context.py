"""The context that all runs of one worker share."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from workers.agent.allocation import NO_ALLOCATION, Allocation, RunAllowance
from workers.agent.environments.images import DAY_S, OwnImages
from workers.agent.host.cache import StagingCache
from workers.agent.host.gpus import GpuSource
from workers.agent.site.client import SiteClient
from workers.engines.base import Engine, EngineFacts
from workers.protocol.hosts import Host, Isolation, SlotFault

LABEL_WORKER = "podium.worker"
UPLOAD_THREADS = 4


def _set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@dataclass
class Worker:
    """One worker: its name, its folder, and its ways to the engine and to the site."""

    name: str
    data_dir: Path
    engine: Engine
    facts: EngineFacts
    client: SiteClient
    cache: StagingCache
    gpus: GpuSource
    host: Host
    quota: bool
    allow_network: bool = False
    mirror_any_host: bool = False  # a package mirror's files may lie on other hosts than its pages
    runtime: str = ""
    isolations: tuple[Isolation, ...] = (Isolation.STANDARD,)
    slots: int = 1
    patience_s: float = 600.0
    own_image_bytes: int = 100 << 30
    own_image_days: int = 14
    images: tuple[str, ...] | None = None  # on the host; None: not known
    slot_faults: dict[int, SlotFault] = field(default_factory=dict)
    allocation: Allocation = NO_ALLOCATION
    allowance: RunAllowance = field(default_factory=RunAllowance)
    stopping: threading.Event = field(default_factory=threading.Event)
    site_reached: threading.Event = field(default_factory=_set_event)  # cleared until a process has registered
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(UPLOAD_THREADS, "upload"))

    def __post_init__(self) -> None:
        self.own_images = OwnImages(
            self.data_dir / "images",
            self.engine,
            max_bytes=self.own_image_bytes,
            max_age_s=self.own_image_days * DAY_S,
            engine_root=self.facts.root,
        )

    @property
    def runs(self) -> Path:
        """One folder per lease that this worker holds."""
        return self.data_dir / "runs"

    @property
    def key(self) -> str:
        """Tells this worker's containers and control groups from those of another worker on the same engine."""
        return sha256(f"{self.name}\0{self.data_dir}".encode()).hexdigest()[:8]

"""The worker as a process: it adopts runs, keeps its slots busy, and stops without harm."""

import fcntl
import os
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import structlog

from workers import __version__
from workers.agent.adoption import Adoption
from workers.agent.allocation import IdleClock, RunAllowance
from workers.agent.config import Config, ConfigError
from workers.agent.context import Worker
from workers.agent.enrolment import enrol, tested_host
from workers.agent.host.cache import StagingCache
from workers.agent.host.facts import host_record
from workers.agent.host.gpus import choose_gpus, find_gpus
from workers.agent.host.janitor import JOB_FOLDER, remove_ended_jobs, sweep
from workers.agent.host.lanes import LANES, Lane
from workers.agent.host.slots import Slot, share_cores
from workers.agent.runs.handling import HeldRuns
from workers.agent.site.claiming import Claimer
from workers.agent.site.client import SiteClient, SiteUnreachable
from workers.agent.site.wakeups import WakeupListener, Wakeups
from workers.calibration import kept_calibration
from workers.engines import engine_for
from workers.engines.base import GVISOR, EngineFacts
from workers.errors import SandboxError
from workers.protocol.calls import Register, Registered, Role
from workers.protocol.hosts import Gpu, Isolation, SelfTest, SlotFacts
from workers.protocol.images import MAX_IMAGES
from workers.protocol.messages import PROTOCOL_VERSION
from workers.sandbox.output_volume import loop_mounts_work, remove_tree

log = structlog.get_logger(__name__)

STOP_GRACE_S = 10.0
HAND_BACK_S = 25.0  # schedulers kill 30 seconds after they have told a job to end
SIGNAL_ROUND_S = 0.5
REGISTER_PAUSE_S = 2.0
PREDECESSOR_WAIT_S = 20.0


def build_worker(config: Config) -> tuple[Worker, list[Gpu]]:
    """Everything that runs share, and the GPUs of this worker.

    Raises `ConfigError`, `SandboxError` or `GpuError` with a sentence for the administrator.
    """
    os.umask(0o022)  # staged files are read by the container's user
    data_dir = own_folder(config)
    (data_dir / "runs").mkdir(parents=True, exist_ok=True)
    for private in (data_dir, data_dir / "runs"):
        private.chmod(0o700)
    engine = engine_for(config.engine)
    facts = engine.facts()
    quota = loop_mounts_work(data_dir)
    if config.require_quota and not quota:
        raise ConfigError("this host cannot make loop file systems (root is needed), and --require-quota was given")
    check_isolation(facts, config)
    source = find_gpus()
    chosen = choose_gpus(source, config.gpus)
    stopping = threading.Event()
    worker = Worker(
        name=config.name,
        data_dir=data_dir,
        engine=engine,
        facts=facts,
        client=SiteClient(config.site, config.token, verify=config.ca_file or True),
        cache=StagingCache(data_dir / "cache", max_bytes=config.cache_bytes, reserve_bytes=config.reserve_bytes),
        gpus=source,
        host=host_record(facts, chosen, quota=quota, runtime=config.runtime),
        quota=quota,
        own_image_bytes=config.own_image_bytes,
        own_image_days=config.own_image_days,
        allow_network=config.allow_network,
        runtime=config.runtime,
        isolations=facts.isolations(config.runtime),
        slots=config.slots or max(1, len(chosen)),
        allocation=config.allocation,
        allowance=RunAllowance(config.max_runs),
        stopping=stopping,
    )
    return worker, chosen


def check_isolation(facts: EngineFacts, config: Config) -> None:
    """Raise `ConfigError` where the engine has not what the settings ask for."""
    if config.runtime and config.runtime not in facts.runtimes:
        raise ConfigError(
            f"the engine has no runtime {config.runtime!r}; it has {', '.join(facts.runtimes)}. Add it to the engine's daemon.json"
        )
    if config.require_isolation == "userns" and not facts.user_namespaces:
        raise ConfigError(
            "--require-isolation userns: the engine runs without user namespaces (userns-remap in daemon.json)"
        )
    if config.require_isolation == "gvisor" and config.runtime != GVISOR:
        raise ConfigError(f"--require-isolation gvisor: containers would not run in gVisor; give --runtime {GVISOR}")


class Service:
    """Runs a worker until `stop` is called."""

    def __init__(self, config: Config, worker: Worker, gpus: Sequence[Gpu]) -> None:
        self._config = config
        self._worker = worker
        self._wakeups = Wakeups()
        self._held = HeldRuns()
        shares = share_cores(sorted(os.sched_getaffinity(0)), worker.slots)
        self._slots = [
            Slot(worker, number, gpus[number].uuid if number < len(gpus) else None, cores)
            for number, cores in enumerate(shares)
        ]
        facts = tuple(SlotFacts(gpu_uuid=slot.gpu_uuid, cores=slot.cores) for slot in self._slots)
        worker.host = worker.host.model_copy(update={"slots": facts})
        worker.cache.may_make_room = lambda: not self._held.any_adopting
        self._idle = IdleClock(config.until_idle_s)
        self._why_ended = "it was told to end"
        self._lock: IO[str] | None = None
        self._self_test = SelfTest()

    def stop(self) -> None:
        """Claim nothing more; containers that run are left for the next process to adopt."""
        self._worker.stopping.set()
        self._wakeups.wake()

    def run(self) -> None:
        """Until stopped. Raises `ConfigError`, `LimitsDoNotHold` or `NotWelcome` when the worker cannot start."""
        self._lock = lock_folder(self._worker.data_dir)
        self._worker.own_images.remove_arrivals()
        if self._worker.allocation.job:
            remove_ended_jobs(self._worker)
        self._self_test = enrol(self._worker, when=self._config.self_test, image=self._config.self_test_image)
        self._worker.host = tested_host(self._worker, self._self_test)
        self._worker.isolations = tuple(map(Isolation, self._worker.host.isolations))
        self._adopt_all()
        registered = self._register()
        self._list_images()
        claimer = Claimer(
            self._worker,
            self._wakeups,
            worker_id=registered.worker_id,
            poll_s=registered.poll_s,
            reserve_bytes=self._config.reserve_bytes,
        )
        self._sweep()
        if self._config.broker:
            stopping = self._worker.stopping
            WakeupListener(self._config.broker, registered.wakeup_queue, self._wakeups, stopping).start()
        lanes = [Lane(slot, claimer, self._held, n) for slot in self._slots for n in range(LANES)]
        for lane in lanes:
            lane.start()
        log.info("worker_ready", worker=self._worker.name, count=len(self._slots))
        self._sweep_until_stopped()
        self._wind_down()

    def _sweep_until_stopped(self) -> None:
        """Sweep now and then, until the worker stops.

        It waits in short rounds: the kernel may give a signal to another thread, and Python handles it when this one wakes.
        """
        due = time.monotonic() + self._config.sweep_s
        while not self._worker.stopping.wait(SIGNAL_ROUND_S):
            if self._is_done():
                self.stop()
                return
            if time.monotonic() >= due:
                self._list_images()
                self._sweep()
                due = time.monotonic() + self._config.sweep_s

    def _is_done(self) -> bool:
        """True when this worker ends by itself: idle, out of runs, or out of time."""
        busy = bool(self._held.snapshot())
        if self._worker.allocation.is_over():
            self._why_ended = "its time is over"
            return True
        return self._idle.is_idle(busy=busy) or (self._worker.allowance.is_used_up and not busy)

    def _sweep(self) -> None:
        """Remove leftovers; what adopted runs use is known only once each of them has acquired it again."""
        sweep(self._worker, self._held.snapshot, trims=not self._held.any_adopting)

    def _list_images(self) -> None:
        """Have the site know which images are here, so that it says before a run when one is on no host."""
        try:
            images = self._worker.engine.image_names()
        except SandboxError as error:
            log.warning("images_not_listed", detail=str(error))
            images = ()
        self._worker.images = images if 0 < len(images) <= MAX_IMAGES else None

    def _register(self) -> Registered:
        """Register, waiting for a site that is not up yet; what has a result to report waits for it, too."""
        worker = self._worker
        message = Register(
            protocol=PROTOCOL_VERSION,
            name=worker.name,
            instance=str(uuid.uuid4()),
            version=__version__,
            slots=len(self._slots),
            host=worker.host,
            role=Role(self._config.role),
            self_test=self._self_test,
            calibration=kept_calibration(worker.data_dir),
            job=worker.allocation.job,
        )
        while True:
            try:
                registered = worker.client.register(message)
                worker.site_reached.set()
                return registered
            except SiteUnreachable as error:
                log.warning("site_unreachable", detail=str(error)[:200])
            if worker.stopping.wait(REGISTER_PAUSE_S):
                raise ConfigError("stopped before the site could be reached")

    def _adopt_all(self) -> None:
        """Go on with what a predecessor left; limits of time hold while the site is away."""
        self._worker.site_reached.clear()
        for thread in Adoption(self._worker, self._slots, self._held).threads():
            thread.start()

    def _wind_down(self) -> None:
        """Hand back what was claimed ahead, see results that are on their way off; leave what runs alone.

        A job of a cluster hands back what runs, too: nobody comes after it who could go on with it. Either waits for answers to
        claims first: a run that was leased while the worker left would be lost for as long as its lease.
        """
        job = self._worker.allocation.job
        if job:
            self._hand_back(f"The cluster's job {job} ended before the run was over: {self._why_ended}.")
            return
        until = time.monotonic() + STOP_GRACE_S
        while time.monotonic() < until and (self._is_asking_or_ahead or self._held.any_finishing):
            time.sleep(0.05)
        log.info("worker_stopped", worker=self._worker.name, count=len(self._held.snapshot()))

    @property
    def _is_asking_or_ahead(self) -> bool:
        """True while a claim may still be answered with a run, or a run waits that has not been started."""
        return any(slot.ahead.is_taken for slot in self._slots)

    def _hand_back(self, detail: str) -> None:
        """End what runs and give it back, then leave nothing on the node."""
        until = time.monotonic() + HAND_BACK_S
        while (self._is_asking_or_ahead or self._held.snapshot()) and time.monotonic() < until:
            self._held.interrupt_all(detail)  # again and again: a lane may have begun one meanwhile
            time.sleep(0.1)
        left = self._held.snapshot()
        log.info("worker_stopped", worker=self._worker.name, count=len(left))
        if not left:
            remove_tree(self._worker.data_dir)


def own_folder(config: Config) -> Path:
    """The worker's folder. Jobs of a cluster that share a node have one each, below the one that is named."""
    base = config.data_dir.resolve()
    return base / f"{JOB_FOLDER}{config.allocation.job}" if config.allocation.job else base


def lock_folder(data_dir: Path, wait_s: float = PREDECESSOR_WAIT_S) -> IO[str]:
    """One process per data folder; waits for a predecessor that is stopping. Raises `ConfigError`."""
    lock = (data_dir / "lock").open("w")
    until = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError as error:
            if time.monotonic() > until:
                lock.close()
                raise ConfigError(
                    f"another worker uses {data_dir}; give each worker a --data-dir of its own"
                ) from error
            time.sleep(0.1)

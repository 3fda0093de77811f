"""Runs a job on this machine's engine without a site: input files lie on this disk.

The code that stages, starts, watches and judges is that of a compute worker.
"""

import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from workers.agent.context import Worker
from workers.agent.host.cache import Make, StagingCache
from workers.agent.host.facts import host_record
from workers.agent.host.gpus import GpuError, GpuSource, find_gpus
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.state import RunFolder, lease_key
from workers.agent.site.client import SiteClient
from workers.engines import engine_for
from workers.errors import SandboxError
from workers.protocol.hosts import Gpu
from workers.protocol.jobs import Job
from workers.protocol.results import Complete
from workers.sandbox.output_volume import loop_mounts_work

CACHE_BYTES: Final = 20 << 30
MADE: Final = "made/"
NO_GPU: Final = (
    "The phase runs code on a GPU, and this machine has none with a driver. Run it where there is one, or send it to the site, where "
    "a smoke run is free: `podium submit --smoke`."
)


class CannotRunHere(ValueError):
    """This machine has not what a run needs; the text says what to do."""


class LocalFiles(SiteClient):
    """Input files by their path on this disk; everything else would need a site."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9", "no token")

    def download(self, url: str, target: Path, **_: Any) -> None:
        shutil.copy(url, target)


@dataclass(frozen=True)
class LocalRun:
    """The result of a job, and its programs' output, by stage."""

    result: Complete
    logs: Mapping[str, str] = field(default_factory=dict)


class _Cache(StagingCache):
    """Files of one run, and beside them the environments that were built for earlier ones."""

    def __init__(self, folder: Path, environments: StagingCache) -> None:
        super().__init__(folder, max_bytes=CACHE_BYTES)
        self._environments = environments

    def acquire_made(self, name: str, make: Make) -> tuple[str, Path]:
        key, path = self._environments.acquire_made(name, make)
        return f"{MADE}{key}", path

    def release(self, key: str) -> None:
        if key.startswith(MADE):
            self._environments.release(key.removeprefix(MADE))
        else:
            super().release(key)


@contextmanager
def _environments(cache_dir: Path | None, scratch: Path) -> Iterator[StagingCache]:
    """The cache of environments: in `cache_dir`, unless another process or thread uses that now.

    Then it is a folder that goes with the run.
    """
    with ExitStack() as held:
        folder = scratch
        if cache_dir is not None:
            cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = held.enter_context((cache_dir / "lock").open("w"))
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                folder = cache_dir / "cache"
        cache = StagingCache(folder, max_bytes=CACHE_BYTES)
        try:
            yield cache
        finally:
            cache.trim()
            cache.settle()


def run_locally(job: Job, *, environments: Path | None = None, any_mirror: bool = False) -> LocalRun:
    """Run the job as a compute worker would. Raises `CannotRunHere`.

    Nothing of it is left on this machine but environments in the folder of that name. With `any_mirror`, whoever runs this chose
    the package mirror: its files may lie on other hosts.
    """
    if os.geteuid() != 0:
        raise CannotRunHere(
            "Programs run as users of their own here, as on a compute worker: run this as root, such as with sudo -E."
        )
    os.umask(0o022)  # staged files are read by the container's user
    with tempfile.TemporaryDirectory(prefix="podium-run-") as scratch:
        gpus = find_gpus() if job.gpus else GpuSource()
        devices = _devices(gpus)
        if job.gpus and not devices:
            raise CannotRunHere(NO_GPU)
        with _environments(environments, Path(scratch) / "environments") as built:
            worker = _worker(Path(scratch) / "data", gpus, devices, built)
            worker.mirror_any_host = any_mirror
            try:
                return _run(worker, job, gpu_uuid=devices[0].uuid if devices else None)
            finally:
                worker.own_images.trim()
                worker.pool.shutdown()


def has_gpu() -> bool:
    """True if a run here can have a GPU. Raises `CannotRunHere` where the driver cannot say."""
    return bool(_devices(find_gpus()))


def _devices(gpus: GpuSource) -> list[Gpu]:
    try:
        return gpus.devices()
    except GpuError as error:
        raise CannotRunHere(f"{error}. See what nvidia-smi says of it.") from error


def _worker(data_dir: Path, gpus: GpuSource, devices: list[Gpu], built: StagingCache) -> Worker:
    for folder in (data_dir, data_dir / "runs"):
        folder.mkdir(mode=0o700)
    try:
        engine = engine_for()
        facts = engine.facts()
    except SandboxError as error:
        raise CannotRunHere(
            f"No container engine answers ({error}). Install Docker and start it, or name its address in DOCKER_HOST."
        ) from error
    quota = loop_mounts_work(data_dir)
    return Worker(
        name=f"local-{uuid.uuid4().hex[:8]}",
        data_dir=data_dir,
        engine=engine,
        facts=facts,
        client=LocalFiles(),
        cache=_Cache(data_dir / "cache", built),
        gpus=gpus,
        host=host_record(facts, devices, quota=quota),
        quota=quota,
        own_image_bytes=0,
        own_image_days=0,
    )


def _run(worker: Worker, job: Job, *, gpu_uuid: str | None) -> LocalRun:
    folder = RunFolder(worker.runs, lease_key(job.lease_id))
    folder.create(job, gpu_uuid=gpu_uuid)
    execution = RunExecution(worker, job, folder)
    try:
        execution.prepare()
        execution.execute()
        result = execution.result(execution.collect())
        logs = {path.stem: path.read_text("utf-8", "replace") for path in sorted(folder.outbox.glob("*.log"))}
    finally:
        execution.destroy()
    return LocalRun(result, logs)

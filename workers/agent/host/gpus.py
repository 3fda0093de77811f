"""GPUs by UUID, MIG slices too, as NVML knows them; none on a host without a driver."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workers.protocol.hosts import Gpu
from workers.sandbox.stage import GpuMeter

SAMPLE_S = 1.0
IDLE_MEMORY_BYTES = 768 << 20  # what a driver keeps on a large GPU that nobody uses


class GpuError(Exception):
    """NVML could not say what was asked; the message names the GPU."""


@dataclass(frozen=True)
class GpuSample:
    """A GPU at one moment: busy fraction, bytes in use, processes, joules since the driver was loaded.

    `busy` and `energy_j` are None where the hardware cannot tell, as for a MIG slice.
    """

    busy: float | None
    memory_bytes: int
    processes: int
    energy_j: float | None = None


class GpuSource:
    """A source of facts about GPUs; this one is of a host without any."""

    def devices(self) -> list[Gpu]:
        """The devices that can be given to a container: whole GPUs, and MIG slices of them."""
        return []

    def sample(self, uuid: str) -> GpuSample:
        """One device now. Raises `GpuError`."""
        raise GpuError(f"this host has no GPU {uuid}")


class NvmlGpus(GpuSource):
    """NVIDIA's management library. `nvml` is the module `pynvml`, initialised."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml

    def devices(self) -> list[Gpu]:
        """Whole GPUs, or the MIG slices of those that are cut into slices."""
        try:
            driver = _text(self._nvml.nvmlSystemGetDriverVersion())
            handles = [self._nvml.nvmlDeviceGetHandleByIndex(n) for n in range(self._nvml.nvmlDeviceGetCount())]
            return [self._describe(part, driver) for handle in handles for part in self._parts(handle)]
        except self._nvml.NVMLError as error:
            raise GpuError(f"NVML cannot list the GPUs: {error}") from error

    def _parts(self, handle: Any) -> list[Any]:
        try:
            current, _ = self._nvml.nvmlDeviceGetMigMode(handle)
        except self._nvml.NVMLError:  # a model without MIG
            current = 0
        if not current:
            return [handle]
        slices = []
        for index in range(self._nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
            try:
                slices.append(self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index))
            except self._nvml.NVMLError:  # a place without a slice
                continue
        return slices

    def _describe(self, handle: Any, driver: str) -> Gpu:
        uuid = _text(self._nvml.nvmlDeviceGetUUID(handle))
        model = _text(self._nvml.nvmlDeviceGetName(handle))
        memory = int(self._nvml.nvmlDeviceGetMemoryInfo(handle).total)
        return Gpu(uuid=uuid, model=model, memory_bytes=memory, driver=driver)

    def sample(self, uuid: str) -> GpuSample:
        """Utilisation, memory and processes of one device."""
        try:
            handle = self._nvml.nvmlDeviceGetHandleByUUID(uuid)
            memory = int(self._nvml.nvmlDeviceGetMemoryInfo(handle).used)
            processes = len(self._nvml.nvmlDeviceGetComputeRunningProcesses(handle))
            return GpuSample(self._busy(handle), memory, processes, self._energy(handle))
        except self._nvml.NVMLError as error:
            raise GpuError(f"NVML cannot read the GPU {uuid}: {error}") from error

    def _busy(self, handle: Any) -> float | None:
        try:
            return float(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100.0
        except self._nvml.NVMLError:  # not known for a MIG slice
            return None

    def _energy(self, handle: Any) -> float | None:
        try:
            return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1000.0  # it counts millijoules
        except self._nvml.NVMLError:  # older than Volta, or a MIG slice
            return None


def find_gpus() -> GpuSource:
    """NVML where there is a driver, else no GPUs."""
    try:
        import pynvml  # type: ignore[import-untyped]  # the maintainers ship no types
    except ImportError:
        return GpuSource()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return GpuSource()
    return NvmlGpus(pynvml)


def choose_gpus(source: GpuSource, selection: str, environ: Mapping[str, str] = os.environ) -> list[Gpu]:
    """The devices for this worker: `auto` (all; in Slurm the job's), `none`, or UUIDs with commas.

    Raises `GpuError` for a UUID that this host does not have; the message lists those it has.
    """
    if selection == "none":
        return []
    devices = source.devices()
    if selection == "auto":
        return allocated_gpus(devices, environ) if environ.get("SLURM_JOB_ID") else devices
    there = {gpu.uuid: gpu for gpu in devices}
    chosen = [uuid.strip() for uuid in selection.split(",") if uuid.strip()]
    missing = [uuid for uuid in chosen if uuid not in there]
    if missing:
        raise GpuError(f"this host has no GPU {', '.join(missing)}; it has {', '.join(there) or 'none'}")
    return [there[uuid] for uuid in chosen]


def allocated_gpus(devices: list[Gpu], environ: Mapping[str, str]) -> list[Gpu]:
    """The devices that Slurm gave to the job, and no others: another worker may be on the same node.

    `CUDA_VISIBLE_DEVICES` counts the devices that the job can see, from 0, also where the node hides the others from
    it; `SLURM_JOB_GPUS` counts those of the node. Raises `GpuError` for a device of the job that is not among those of
    the host.
    """
    named = environ.get("CUDA_VISIBLE_DEVICES") or environ.get("SLURM_JOB_GPUS") or ""
    by_name = {str(number): gpu for number, gpu in enumerate(devices)} | {gpu.uuid: gpu for gpu in devices}
    chosen = [name.strip() for name in named.split(",") if name.strip() and name.strip() != "NoDevFiles"]
    missing = [name for name in chosen if name not in by_name]
    if missing:
        raise GpuError(
            f"Slurm gave this job the GPU {', '.join(missing)}, which this host does not have; it has {len(devices)}. "
            "Compare gres.conf of the node with nvidia-smi"
        )
    return [by_name[name] for name in dict.fromkeys(chosen)]


def why_unclean(source: GpuSource, uuid: str) -> str | None:
    """A sentence on why the next run must not get the GPU; None for a clean one.

    A GPU is clean when nobody is on it and its memory is free.
    """
    try:
        sample = source.sample(uuid)
    except GpuError as error:
        return str(error)
    if sample.processes:
        return f"{sample.processes} processes are still on the GPU {uuid}"
    if sample.memory_bytes > IDLE_MEMORY_BYTES:
        return f"{sample.memory_bytes >> 20} MiB of the GPU {uuid} are still in use"
    return None


class NvmlMeter(GpuMeter):
    """Adds up busy seconds and the peak of memory of one GPU, once a second, in a thread of its own."""

    def __init__(
        self, source: GpuSource, uuid: str, *, sample_s: float = SAMPLE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._source = source
        self._uuid = uuid
        self._sample_s = sample_s
        self._clock = clock
        self._stop = threading.Event()
        self._busy_s: float | None = None
        self._peak = 0
        self._memory: int | None = None
        self._last: float | None = None
        self._energy: tuple[float, float] | None = None  # first and last reading of the counter
        self._thread = threading.Thread(target=self._run, name=f"gpu-{uuid[-8:]}", daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._meter_energy()
        self._thread.start()

    def stop(self) -> None:
        """Take the last sample and end."""
        self._stop.set()
        self._thread.join(2 * self._sample_s)

    def _run(self) -> None:
        while not self._stop.wait(self._sample_s):
            self.take()
        self.take()

    def take(self) -> None:
        """Take one sample now; one that fails is left out."""
        try:
            sample = self._source.sample(self._uuid)
        except GpuError:
            return
        now = self._clock()
        since = self._sample_s if self._last is None else now - self._last
        self._last = now
        self._memory = sample.memory_bytes
        self._peak = max(self._peak, sample.memory_bytes)
        self._add_energy(sample.energy_j)
        if sample.busy is not None:
            self._busy_s = (self._busy_s or 0.0) + sample.busy * since

    def memory_now(self) -> int | None:
        """Bytes in use at the newest sample."""
        return self._memory

    def _meter_energy(self) -> None:
        """The counter as it stands before the program's first kernel."""
        try:
            self._add_energy(self._source.sample(self._uuid).energy_j)
        except GpuError:
            return

    def _add_energy(self, energy_j: float | None) -> None:
        if energy_j is not None:
            self._energy = (energy_j if self._energy is None else self._energy[0], energy_j)

    def reading(self) -> dict[str, object]:
        """The figures so far."""
        energy = None if self._energy is None else round(self._energy[1] - self._energy[0], 1)
        busy = None if self._busy_s is None else round(self._busy_s, 3)
        return {
            "gpu_uuid": self._uuid,
            "gpu_s": busy,
            "gpu_memory_peak_bytes": self._peak or None,
            "gpu_energy_j": energy,
        }


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value

"""Cache, state, wake-ups, watch, meters, GPUs: the worker's pieces one by one."""

# ruff: noqa: N802  the fake NVML has the names of the real one

from __future__ import annotations

import stat
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.workers.agent.test_archives_and_commands import packed
from tests.unit.workers.protocol.test_jobs_and_settings import JOB, changed
from workers.agent.config import ConfigError
from workers.agent.host.cache import StagingCache
from workers.agent.host.gpus import GpuError, NvmlGpus, NvmlMeter, choose_gpus, why_unclean
from workers.agent.runs.archive import ArchiveRefused
from workers.agent.runs.state import RunFolder, StageFacts, lease_key, write_durably
from workers.agent.service import lock_folder
from workers.agent.site.wakeups import WakeupListener, Wakeups, connection_to
from workers.engines.cgroup import Cgroup
from workers.engines.docker.client import parse_time
from workers.errors import SandboxError
from workers.protocol.jobs import FileRef, parse_job
from workers.sandbox.output_volume import OutputVolume
from workers.sandbox.watch import Watch
from workers.sandbox.work import WritableInputs


class Files:
    """Counts how often a file is fetched."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.fetched = 0

    def __call__(self, file: FileRef, target: Path) -> None:
        self.fetched += 1
        target.write_bytes(self.source.read_bytes())


def reference(character: str = "a", name: str = "x.zip") -> FileRef:
    return FileRef(url="http://site/x", sha256=character * 64, size_bytes=1, name=name)


def test_a_file_is_fetched_and_unpacked_once_however_many_ask(tmp_path: Path) -> None:
    fetch = Files(packed(tmp_path / "a.zip", {"d/x.txt": b"hello"}))
    cache = StagingCache(tmp_path / "cache", max_bytes=1 << 30)
    paths: list[Path] = []

    def ask() -> None:
        paths.append(cache.acquire(reference(), unpacked=True, secret=False, fetch=fetch)[1])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fetch.fetched == 1
    assert len(set(paths)) == 1
    assert (paths[0] / "d" / "x.txt").read_bytes() == b"hello"


def test_secret_files_lie_where_only_the_worker_may_enter(tmp_path: Path) -> None:
    fetch = Files(packed(tmp_path / "a.zip", {"x": b"label"}))
    cache = StagingCache(tmp_path / "cache", max_bytes=1 << 30)
    _, secret = cache.acquire(reference(), unpacked=True, secret=True, fetch=fetch)
    _, shown = cache.acquire(reference(), unpacked=True, secret=False, fetch=fetch)
    assert secret != shown
    assert secret.is_relative_to(tmp_path / "cache" / "secret")
    assert stat.S_IMODE((tmp_path / "cache" / "secret").stat().st_mode) == 0o700
    assert stat.S_IMODE(secret.parent.stat().st_mode) == 0o700


def test_a_single_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "y").write_bytes(b"npz")
    cache = StagingCache(tmp_path / "cache", max_bytes=1 << 30)
    _, tree = cache.acquire(reference(name="y_pred.npz"), unpacked=False, secret=False, fetch=Files(tmp_path / "y"))
    assert [path.name for path in tree.iterdir()] == ["y_pred.npz"]


def test_what_cannot_be_unpacked_leaves_nothing_and_can_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"no zip")
    cache = StagingCache(tmp_path / "cache", max_bytes=1 << 30)
    for _ in range(2):
        with pytest.raises(ArchiveRefused):
            cache.acquire(reference(), unpacked=True, secret=False, fetch=Files(tmp_path / "bad"))
    assert list((tmp_path / "cache" / "incoming").iterdir()) == []
    assert list((tmp_path / "cache" / "open").iterdir()) == []


def test_over_its_cap_the_cache_drops_what_was_used_longest_ago_and_nothing_in_use(tmp_path: Path) -> None:
    fetch = Files(packed(tmp_path / "a.zip", {"x": bytes(100_000)}))
    cache = StagingCache(tmp_path / "cache", max_bytes=1)
    old, _ = cache.acquire(reference("a"), unpacked=True, secret=False, fetch=fetch)
    held, path = cache.acquire(reference("b"), unpacked=True, secret=False, fetch=fetch)
    cache.release(old)
    assert cache.trim() > 0
    assert not (tmp_path / "cache" / old).exists()
    assert path.exists()
    cache.release(held)
    cache.trim()
    assert not path.exists()


def test_a_run_folder_is_read_back_by_the_next_process(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, lease_key("l-1"))
    folder.create(parse_job(JOB), gpu_uuid="GPU-1")
    folder.set_phase("executing")
    folder.record_start("ingestion", 12.5)
    folder.record_kill("ingestion", "time_limit")
    folder.record_sent_log("ingestion", 3, 999)
    again, job = RunFolder.load(tmp_path, lease_key("l-1"))
    assert (again.state.phase, again.state.gpu_uuid, again.same_boot) == ("executing", "GPU-1", True)
    assert again.stage_facts("ingestion") == StageFacts(started=12.5, killed_by="time_limit")
    assert again.log_position("ingestion") == (3, 999)
    assert job.token == "t"
    assert stat.S_IMODE((again.path / "job.json").stat().st_mode) == 0o600


def test_a_run_folder_names_its_lease_and_nothing_else(tmp_path: Path) -> None:
    job = parse_job(changed(lambda message: message.update(run_id="secret-run", lease_id="AB-12")))
    RunFolder(tmp_path, lease_key(job.lease_id)).create(job, gpu_uuid=None)
    assert [path.name for path in tmp_path.iterdir()] == ["ab12"]


def test_a_durable_write_replaces_the_whole_file(tmp_path: Path) -> None:
    write_durably(tmp_path / "f", "long text")
    write_durably(tmp_path / "f", "short")
    assert (tmp_path / "f").read_text() == "short"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_second_process_is_kept_out_of_the_data_folder(tmp_path: Path) -> None:
    held = lock_folder(tmp_path)
    with pytest.raises(ConfigError, match="--data-dir"):
        lock_folder(tmp_path, wait_s=0.05)
    held.close()
    lock_folder(tmp_path, wait_s=0.05).close()


def test_a_ring_between_looking_and_waiting_is_not_missed() -> None:
    wakeups = Wakeups()
    seen = wakeups.count
    wakeups.wake()
    assert wakeups.wait(seen, 0) is True
    assert wakeups.wait(wakeups.count, 0) is False


def test_a_message_on_the_file_system_broker_wakes(tmp_path: Path) -> None:
    broker = f"filesystem://{tmp_path}"
    stopping, wakeups = threading.Event(), Wakeups()
    listener = WakeupListener(broker, "compute.q", wakeups, stopping)
    with connection_to(broker) as connection, connection.Producer() as producer:
        listener.start()
        producer.publish({}, exchange="", routing_key="compute.q", declare=[listener.queue], serializer="json")
        assert wakeups.wait(0, 10)
    stopping.set()
    listener.join(10)
    assert not listener.is_alive()


class Container:
    """Counts kills."""

    def __init__(self) -> None:
        self.kills = 0
        self.killed = threading.Event()

    def kill(self) -> None:
        self.kills += 1
        self.killed.set()
        if self.kills == 1:
            raise SandboxError("engine_unreachable", "busy")


def test_a_container_is_killed_at_its_limit_and_again_until_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.sandbox.watch.KILL_AGAIN_S", 0.01)
    container, reasons = Container(), list[str]()
    watch = Watch(container.kill, deadline=time.monotonic() - 1, on_kill=reasons.append)
    watch.start()
    while container.kills < 2:
        container.killed.wait(1)
    watch.stop()
    watch.join(5)
    assert reasons == ["time_limit"]
    assert watch.killed_by == "time_limit"


def test_a_container_that_ends_in_time_is_never_killed() -> None:
    container = Container()
    watch = Watch(container.kill, deadline=time.monotonic() + 60)
    watch.start()
    watch.stop()
    watch.join(5)
    assert (container.kills, watch.killed_by) == (0, None)


def test_the_first_reason_to_kill_counts() -> None:
    watch = Watch(lambda: None, deadline=time.monotonic() + 60)
    watch.cancel("cancelled")
    watch.cancel("lease_lost")
    assert watch.killed_by == "cancelled"


def test_an_output_without_a_quota_is_watched_and_its_growth_ends_the_container(tmp_path: Path) -> None:
    volume = OutputVolume(tmp_path, "output", size_bytes=4096, files=10, quota=False)
    volume.create()
    assert not volume.usage().full
    (volume.path / "big").write_bytes(bytes(100_000))
    assert volume.usage().full
    volume.destroy()
    assert list(tmp_path.iterdir()) == []


CGROUPS = {
    "v1": {
        "cpuacct/podium/x/cpuacct.usage": "2500000000\n",
        "memory/podium/x/memory.usage_in_bytes": "10\n",
        "memory/podium/x/memory.max_usage_in_bytes": "20\n",
        "memory/podium/x/memory.oom_control": "under_oom 0\noom_kill 1\n",
    },
    "v2": {
        "podium.slice/podium-x.slice/cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
        "podium.slice/podium-x.slice/memory.current": "10\n",
        "podium.slice/podium-x.slice/memory.peak": "20\n",
        "podium.slice/podium-x.slice/memory.events": "low 0\noom_kill 1\n",
    },
}


@pytest.mark.parametrize("version", CGROUPS)
def test_meters_are_read_from_both_versions_of_control_groups(tmp_path: Path, version: str) -> None:
    for name, text in CGROUPS[version].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    driver = "systemd" if version == "v2" else "cgroupfs"
    reading = Cgroup("x", version=version, driver=driver, root=tmp_path).read()
    assert (reading.cpu_s, reading.memory_bytes, reading.memory_peak_bytes, reading.oom_kills) == (2.5, 10, 20, 1)


def test_meters_that_cannot_be_read_are_unknown_and_not_zero(tmp_path: Path) -> None:
    reading = Cgroup("x", version="v2", driver="cgroupfs", root=tmp_path).read()
    assert (reading.cpu_s, reading.memory_peak_bytes) == (None, None)


def test_the_engines_times_are_read_to_the_microsecond() -> None:
    assert parse_time("2030-05-01T10:00:00.123456789Z") == datetime(2030, 5, 1, 10, 0, 0, 123456, UTC)
    assert parse_time("2030-05-01T12:00:00+02:00") == datetime(2030, 5, 1, 10, tzinfo=UTC)
    assert parse_time("0001-01-01T00:00:00Z") is None
    with pytest.raises(SandboxError):
        parse_time("yesterday")


class FakeNvml:
    """The used part of `pynvml`, without a GPU: one whole GPU, one cut into two slices."""

    class NVMLError(Exception):
        """NVML's error."""

    def __init__(self) -> None:
        self.used = 100 << 20
        self.processes: list[int] = []
        self.energy_mj = 10_000_000

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.1"

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return f"GPU-{index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid == "GPU-gone":
            raise self.NVMLError("not found")
        return uuid

    def nvmlDeviceGetMigMode(self, handle: str) -> tuple[int, int]:
        if handle == "GPU-0":
            raise self.NVMLError("not supported")
        return 1, 1

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: str) -> int:
        return 3

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: str, index: int) -> str:
        if index == 2:
            raise self.NVMLError("not found")
        return f"MIG-{index}"

    def nvmlDeviceGetUUID(self, handle: str) -> bytes:
        return handle.encode()

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "H200"

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return SimpleNamespace(total=141 << 30, used=self.used)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[int]:
        return self.processes

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        if handle.startswith("MIG"):
            raise self.NVMLError("not supported")
        return SimpleNamespace(gpu=50)

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        if handle.startswith("MIG"):
            raise self.NVMLError("not supported")
        self.energy_mj += 250_500
        return self.energy_mj


def test_whole_gpus_and_slices_are_listed_by_uuid_and_chosen_by_uuid() -> None:
    source = NvmlGpus(FakeNvml())
    assert [gpu.uuid for gpu in choose_gpus(source, "auto")] == ["GPU-0", "MIG-0", "MIG-1"]
    assert [gpu.uuid for gpu in choose_gpus(source, "MIG-1, GPU-0")] == ["MIG-1", "GPU-0"]
    assert choose_gpus(source, "none") == []
    with pytest.raises(GpuError, match="no GPU GPU-9; it has GPU-0"):
        choose_gpus(source, "GPU-9")


def test_a_gpu_with_a_process_or_with_memory_in_use_is_not_clean() -> None:
    nvml = FakeNvml()
    source = NvmlGpus(nvml)
    assert why_unclean(source, "GPU-0") is None
    nvml.processes = [4711]
    assert "1 processes" in str(why_unclean(source, "GPU-0"))
    nvml.processes, nvml.used = [], 2 << 30
    assert "2048 MiB" in str(why_unclean(source, "GPU-0"))
    assert "cannot read" in str(why_unclean(source, "GPU-gone"))


def test_gpu_seconds_and_peak_memory_add_up_from_samples() -> None:
    nvml, moments = FakeNvml(), iter([10.0, 12.0, 13.0])
    meter = NvmlMeter(NvmlGpus(nvml), "GPU-0", sample_s=1.0, clock=lambda: next(moments))
    meter.take()
    nvml.used = 5 << 30
    meter.take()
    nvml.used = 1 << 30
    meter.take()
    assert meter.reading() == {
        "gpu_uuid": "GPU-0",
        "gpu_s": 2.0,
        "gpu_memory_peak_bytes": 5 << 30,
        "gpu_energy_j": 501.0,
    }


def test_a_slice_has_no_busy_seconds_but_a_peak() -> None:
    meter = NvmlMeter(NvmlGpus(FakeNvml()), "MIG-0")
    meter.take()
    assert meter.reading() == {
        "gpu_uuid": "MIG-0",
        "gpu_s": None,
        "gpu_memory_peak_bytes": 100 << 20,
        "gpu_energy_j": None,
    }


@pytest.mark.parametrize("kind", ["folder", "link", "file"])
def test_what_the_worker_leaves_among_the_inputs_replaces_what_a_program_called_so(tmp_path: Path, kind: str) -> None:
    source, elsewhere = tmp_path / "res", tmp_path / "elsewhere"
    source.mkdir()
    elsewhere.write_text("untouched")
    if kind == "folder":
        (source / "metadata" / "deep").mkdir(parents=True)
    elif kind == "link":
        (source / "metadata").symlink_to(elsewhere)
    else:
        (source / "metadata").write_text("exitCode: 0")
    inputs = WritableInputs(tmp_path, "inputs", False, {"/app/input/res": source})
    inputs.fill({"input/res/metadata": b"exitCode: 1"})
    assert (inputs.path / "input/res/metadata").read_bytes() == b"exitCode: 1"
    assert not (inputs.path / "input/res/metadata").is_symlink()
    assert elsewhere.read_text() == "untouched"

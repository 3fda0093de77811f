"""Full disks, hanging engines, unreadable files: none of them holds a run, or blames its team."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from tests.unit.workers.limits import limits
from tests.unit.workers.sandbox.test_engine import FACTS, KILLED, RUNNING, Api, engine_with, fail_to_connect
from workers.agent.host.cache import StagingCache
from workers.agent.host.slots import Slot
from workers.agent.runs.execution import RunExecution
from workers.agent.site.outbox import Outbox
from workers.engines.docker.client import DockerEngine
from workers.engines.spec import StageSpec
from workers.errors import SandboxError
from workers.protocol.jobs import FileRef
from workers.sandbox import stage as stages
from workers.sandbox.collect import list_output
from workers.sandbox.logs import StageLog
from workers.sandbox.output_volume import OutputVolume
from workers.sandbox.stage import StageRun
from workers.sandbox.watch import Watch
from workers.sandbox.work import WritableInputs

LIMITS = limits(7200, memory_bytes=1 << 27, cpus=1.0)
FINISHED = {**KILLED, "ExitCode": 0, "FinishedAt": "2030-01-01T02:00:00Z"}


def stage_in(folder: Path, engine: DockerEngine) -> StageRun:
    volume = OutputVolume(folder, "o", size_bytes=1 << 20, files=10, quota=False)
    volume.create()
    spec = StageSpec("n", "i", ("x",), (), volume.path, LIMITS, {}, "/podium/x")
    return StageRun("ingestion", engine, spec, volume, container="c")


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def watched(**arguments: Any) -> int:
    """The number of times that a container whose kill ends it was killed."""
    kills = []

    def kill() -> None:
        kills.append(1)
        watch.stop()

    watch = Watch(kill, **arguments)
    watch.start()
    watch.join(10)
    watch.stop()
    return len(kills)


def test_a_container_is_killed_at_its_limit_even_when_the_disk_is_too_full_to_write_it_down() -> None:
    assert watched(deadline=time.monotonic() - 1, on_kill=full_disk) == 1


def test_an_output_that_cannot_be_measured_leaves_the_wall_limit_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.sandbox.watch.CHECK_S", 0.01)

    def unreadable() -> str | None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    assert watched(deadline=time.monotonic() + 0.1, overgrown=unreadable) == 1


class Clock:
    """A clock that waits and pauses move on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def after(self, seconds: float, outcome: Callable[[], None]) -> Callable[[], None]:
        def wait() -> None:
            self.now += seconds
            outcome()

        return wait


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(stages, "time", clock)
    return clock


def test_an_engine_that_restarts_in_the_second_hour_is_waited_for_as_in_the_first_minute(
    tmp_path: Path, clock: Clock
) -> None:
    def end() -> None:
        api.state = FINISHED

    api: Any = Api(
        RUNNING, clock.after(3600, fail_to_connect), clock.after(1800, fail_to_connect), clock.after(1800, end)
    )
    api.start = lambda container: None
    api.base_url, api.api_version, api.get = "http+docker://localhost", "1.41", lambda *_, **__: fail_to_connect()
    evidence = stage_in(tmp_path, engine_with(api)).execute()
    assert (evidence.exit_code, api.waits) == (0, [])


def test_an_engine_that_stays_away_is_not_waited_for_for_ever(tmp_path: Path, clock: Clock) -> None:
    api: Any = Api(RUNNING, clock.after(3600, fail_to_connect))
    api.start = lambda container: None
    api.base_url, api.api_version, api.get = "http+docker://localhost", "1.41", lambda *_, **__: fail_to_connect()
    api.inspect_container = lambda container: fail_to_connect()
    with pytest.raises(SandboxError) as error:
        stage_in(tmp_path, engine_with(api)).execute()
    assert error.value.code == "engine_unreachable"
    assert clock.now == pytest.approx(1000 + 3600 + stages.LOST_ENGINE_WAIT_S, abs=2)


class Hanging(BaseHTTPRequestHandler):
    """An engine that begins to answer a request for a log, and then hangs, or dies."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"d\r\n\1\0\0\0\0\0\0\5hello\r\n8\r\n\1\0\0\0")
        self.wfile.flush()
        if self.server.dies:  # type: ignore[attr-defined]
            self.close_connection = True
        else:
            self.server.over.wait(30)  # type: ignore[attr-defined]


@pytest.fixture(params=[False, True], ids=["hangs", "dies"])
def broken_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerEngine]:
    monkeypatch.setattr("workers.engines.docker.client.CALL_TIMEOUT_S", 0.2)
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Hanging)
    server.dies, server.over, server.daemon_threads = request.param, threading.Event(), True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    engine = object.__new__(DockerEngine)
    engine._facts = FACTS
    session: Any = requests.Session()
    session.base_url, session.api_version = f"http://127.0.0.1:{server.server_port}", "1.41"
    engine.api = session
    yield engine
    server.over.set()
    server.shutdown()
    server.server_close()
    session.close()


@pytest.mark.timeout(20)
def test_a_log_that_the_engine_does_not_give_to_its_end_holds_no_run(broken_engine: DockerEngine) -> None:
    log = StageLog(broken_engine, "c" * 12, limit_bytes=4096)
    log.start()
    log.finish(timeout_s=1)
    assert log.content() == b"hello"


def outbox_with_output(folder: Path, packer: ThreadPoolExecutor) -> tuple[Outbox, Any]:
    volume = OutputVolume(folder, "output", size_bytes=1 << 20, files=10, quota=False)
    volume.create()
    (volume.path / "predictions.csv").write_bytes(os.urandom(100_000))
    (folder / "outbox").mkdir()
    stage = SimpleNamespace(name="ingestion", volume=volume, spec=SimpleNamespace(limits=LIMITS))
    return Outbox(folder / "outbox", packer), stage


def test_predictions_that_the_workers_disk_cannot_hold_are_not_left_out_in_silence(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as packer:
        outbox, stage = outbox_with_output(tmp_path, packer)
        (outbox.folder / "predictions.zip").symlink_to("/dev/full")
        assert outbox.take(stage, "predictions.zip") is None
        with pytest.raises(OSError, match="No space left"):
            outbox.collect([])


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM])
def test_an_output_that_the_host_fails_to_read_is_not_its_teams_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "answer.txt").write_text("1")

    def failing(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("workers.sandbox.collect.os.open", failing)
    with pytest.raises(SandboxError) as error:
        list_output(tmp_path, max_files=10, max_bytes=1000)
    assert error.value.code == "output_unreadable"


@pytest.mark.parametrize(
    ("quota", "code"), [(True, "output_full"), (False, "disk_full")], ids=["in its file system", "on the host's disk"]
)
def test_a_submission_is_too_large_where_its_output_has_a_place_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: bool, code: str
) -> None:
    stage = stage_in(tmp_path, engine_with(Api(RUNNING)))
    stage.prefill, stage.volume.quota = tmp_path, quota

    def full(source: Path, target: Path) -> None:
        raise SandboxError("disk_full", "an input could not be copied: No space left on device")

    monkeypatch.setattr(stages, "copy_tree", full)
    with pytest.raises(SandboxError) as error:
        stage.fill({})
    assert error.value.code == code


def test_a_worker_without_room_for_copies_of_the_inputs_is_not_the_teams_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_in(tmp_path, engine_with(Api(RUNNING)))
    stage.prefill = tmp_path
    stage.inputs = WritableInputs(tmp_path, "inputs", True, {})
    monkeypatch.setattr("workers.sandbox.output_volume.os.posix_fallocate", full_disk)
    execution: Any = SimpleNamespace()
    with pytest.raises(SandboxError) as error:
        RunExecution._fill(execution, [stage])
    assert error.value.code == "disk_full"


def cache_in(folder: Path, *, boot: str = "first", free_bytes: int = 1 << 40, reserve_bytes: int = 0) -> StagingCache:
    cache = StagingCache(folder, max_bytes=1 << 30, reserve_bytes=reserve_bytes, boot=boot)
    cache.free_bytes = lambda: free_bytes  # type: ignore[method-assign]  # a disk of any size
    return cache


def staged_content(cache: StagingCache, content: bytes) -> bytes:
    file = FileRef(
        url="http://x", sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content), name="labels.csv"
    )
    key, path = cache.acquire(
        file, unpacked=False, secret=True, fetch=lambda _, target: void(target.write_bytes(content))
    )
    cache.release(key)
    return (path / "labels.csv").read_bytes()


def void(_: object) -> None:
    """Nothing of it."""


def test_a_cached_file_that_a_power_cut_left_empty_is_never_shown_to_a_container(tmp_path: Path) -> None:
    staged_content(cache_in(tmp_path), b"labels")
    lost = next(tmp_path.rglob("labels.csv"))
    os.truncate(lost, 0)
    assert staged_content(cache_in(tmp_path, boot="second"), b"labels") == b"labels"


def test_what_was_written_out_before_the_power_cut_is_kept(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    staged_content(cache, b"labels")
    assert (cache.settle(), cache.settle()) == (1, 0)
    inode = next(tmp_path.rglob("labels.csv")).stat().st_ino
    assert staged_content(cache_in(tmp_path, boot="second"), b"labels") == b"labels"
    assert next(tmp_path.rglob("labels.csv")).stat().st_ino == inode
    assert staged_content(cache_in(tmp_path, boot="third"), b"labels") == b"labels"
    assert next(tmp_path.rglob("labels.csv")).stat().st_ino == inode, "once is enough"


def test_a_disk_that_others_fill_takes_from_the_cache_before_it_stops_the_worker(tmp_path: Path) -> None:
    cache = cache_in(tmp_path, free_bytes=999, reserve_bytes=1000)
    staged_content(cache, b"labels")
    assert cache.trim() > 0
    assert list(tmp_path.rglob("labels.csv")) == []


def test_a_long_life_leaves_no_lock_for_every_file_that_came(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    for number in range(5):
        staged_content(cache, str(number).encode())
    assert (len(cache._filling), len(cache._in_use)) == (0, 0)


def test_a_gpu_library_that_fails_in_its_own_way_takes_the_slot_out_of_service_and_ends_nothing() -> None:
    def broken(uuid: str) -> None:
        raise RuntimeError("NVML: driver/library version mismatch")

    worker: Any = SimpleNamespace(gpus=SimpleNamespace(sample=broken), stopping=threading.Event(), slot_faults={})
    slot = Slot(worker, 0, "GPU-0")
    assert "version mismatch" in str(slot.check_gpu())
    assert (slot.free_gpus, worker.slot_faults[0].gpu_uuid) == (0, "GPU-0")

"""A restarted worker over an earlier process's runs, with an engine and a site of the test's."""

from __future__ import annotations

import hashlib
import io
import threading
import time
import zipfile
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from tests.unit.workers.sandbox.test_engine import FACTS
from workers.agent.config import Config
from workers.agent.context import Worker
from workers.agent.host.cache import StagingCache
from workers.agent.host.gpus import GpuSource
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.state import RunFolder, lease_key
from workers.agent.service import Service
from workers.agent.site.client import SiteUnreachable
from workers.engines.base import ContainerState, Usage, never
from workers.engines.images import ImageFacts
from workers.engines.spec import StageSpec
from workers.errors import STOPPED, SandboxError
from workers.protocol.calls import Claim, Heartbeat, HeartbeatAnswer, Register, Registered
from workers.protocol.hosts import Gpu, Host
from workers.protocol.jobs import Job, PullPolicy, parse_job
from workers.protocol.results import Complete

IMAGE = "podium/runtime:1"
WALL_S = 60.0
PATIENCE_S = 10.0  # of these tests


class FakeEngine:
    """Containers that start and end when a test says so, and one image, as the registry has it now."""

    def __init__(self) -> None:
        self.image = ImageFacts(digest="sha256:first", volumes=("/data",))
        self.pulls: list[str] = []
        self.pull: Callable[[], None] = lambda: None
        self.kill_works = True
        self.is_out_of_memory = self.is_signalled = False
        self.removal_error = SandboxError("engine_error", "removing the container: could not kill it")
        self.waited_for: set[str] = set()
        self._containers: dict[str, ContainerState] = {}
        self._changed = threading.Condition()

    def ping(self) -> None:
        """It answers."""

    def find_image(self, image: str) -> ImageFacts | None:
        return self.image

    def ensure_image(
        self, image: str, policy: PullPolicy, stop: Callable[[], bool] = never, max_bytes: int = 0
    ) -> ImageFacts:
        if policy == PullPolicy.ALWAYS:
            self.pulls.append(image)
            self.pull()
        return self.image

    def prepare(self, spec: StageSpec) -> str:
        self._containers[spec.name] = ContainerState(spec.name, "created", 0, False, None, None, spec.labels)
        return spec.name

    def adopt(self, name: str) -> ContainerState:
        return self.observe(name)

    def observe(self, container: str) -> ContainerState:
        if container not in self._containers:
            raise SandboxError("container_missing", f"no container {container}")
        return self._containers[container]

    def start(self, container: str) -> None:
        self.set_started(container, datetime.now(UTC))

    def set_started(self, container: str, started_at: datetime) -> None:
        """It runs since then."""
        self._change(container, status="running", started_at=started_at)

    def set_ended(self, container: str, finished_at: datetime, exit_code: int = 0) -> None:
        """It ended then."""
        self._change(container, status="exited", finished_at=finished_at, exit_code=exit_code)

    def _change(self, container: str, **changes: Any) -> None:
        with self._changed:
            self._containers[container] = replace(self._containers[container], **changes)
            self._changed.notify_all()

    def wait(self, container: str, stop: Callable[[], bool] = never) -> None:
        self.waited_for.add(container)
        with self._changed:
            while not self.observe(container).ended and not stop():
                self._changed.wait(0.01)

    def kill(self, container: str) -> None:
        if self.kill_works and not self.observe(container).ended:
            self.set_ended(container, datetime.now(UTC), 137)

    def kill_all(self) -> None:
        """End whatever runs."""
        for name, state in list(self._containers.items()):
            if state.status == "running":
                self.set_ended(name, datetime.now(UTC), 137)

    def remove(self, container: str) -> None:
        if not self.kill_works and container in self._containers and self.observe(container).status == "running":
            raise self.removal_error
        self._containers.pop(container, None)

    def list(self, labels: Mapping[str, str]) -> Collection[str]:
        return [name for name, state in list(self._containers.items()) if labels.items() <= dict(state.labels).items()]

    def was_out_of_memory(self, spec: StageSpec, state: ContainerState) -> bool:
        return self.is_out_of_memory

    def was_signalled(self, container: str, since: datetime) -> bool:
        return self.is_signalled

    def usage(self, group: str) -> Usage:
        return Usage(None, None, None, None)

    def collect(self, container: str, *, follow: bool, tail: int | None = None) -> Generator[bytes]:
        yield b""

    def release(self, group: str) -> bool:
        return False

    def groups(self, key: str) -> Collection[str]:
        return ()

    def image_names(self) -> Collection[str]:
        return (IMAGE,)


@dataclass
class FakeSite:
    """Files by digest, and what it is told. While it is `away`, nothing arrives."""

    files: dict[str, bytes] = field(default_factory=dict)
    results: dict[str, Complete] = field(default_factory=dict)  # by run
    released: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)  # what claims are answered with
    away: bool = False
    stopped_downloads: int = 0
    on_download: Callable[[], None] = lambda: None
    on_claim: Callable[[], object] = lambda: None
    on_heartbeat: Callable[[], object] = lambda: None
    on_complete: Callable[[], object] = lambda: None

    def _answer(self) -> None:
        if self.away:
            raise SiteUnreachable("nobody answers")

    def download(self, url: str, target: Path, *, sha256: str, stop: Callable[[], bool], **_: Any) -> None:
        self._answer()
        self.on_download()
        if stop():
            self.stopped_downloads += 1
            raise SandboxError(STOPPED, "an input file was not fetched to its end")
        target.write_bytes(self.files[sha256])

    def heartbeat(self, run_id: str, token: str, message: Heartbeat) -> HeartbeatAnswer:
        self._answer()
        self.on_heartbeat()
        return HeartbeatAnswer()

    def register(self, message: Register) -> Registered:
        self._answer()
        return Registered(worker_id="w", queue="q", wakeup_queue="q", poll_s=2, lease_s=90, heartbeat_s=15)

    def claim(self, message: Claim) -> dict[str, Any] | None:
        self._answer()
        self.claims.append(message)
        self.on_claim()
        return self.jobs.pop(0).model_dump(mode="json") if self.jobs else None

    def release(self, run_id: str, token: str, message: object, **_: Any) -> None:
        self._answer()
        self.released.append(run_id)

    def upload(self, run_id: str, token: str, name: str, path: Path, sha256: str, **_: Any) -> None:
        self._answer()

    def complete(self, run_id: str, token: str, message: Complete, **_: Any) -> None:
        self._answer()
        self.on_complete()
        self.results[run_id] = message


class Restarts:
    """One data folder, one engine and one site, and worker processes one after the other."""

    def __init__(self, folder: Path) -> None:
        self.engine = FakeEngine()
        self.site = FakeSite()
        self.slots = 1
        self.cache_bytes = 1 << 30
        self.folder = folder
        self._services: list[Service] = []
        (folder / "runs").mkdir()

    def worker(self) -> Worker:
        """A process's worker."""
        cache = StagingCache(self.folder / "cache", max_bytes=self.cache_bytes)
        return Worker(
            name="w",
            data_dir=self.folder,
            engine=cast("Any", self.engine),
            facts=FACTS,
            client=cast("Any", self.site),
            cache=cache,
            gpus=GpuSource(),
            host=Host(),
            quota=False,
            slots=self.slots,
        )

    def service(self, *gpus: str) -> Service:
        """The process that comes next."""
        config = Config(site="https://x", token="t", data_dir=self.folder, name="w", self_test="never", gpus="none")
        self._services.append(
            Service(
                config, self.worker(), [Gpu(uuid=uuid, model="model", memory_bytes=0, driver="driver") for uuid in gpus]
            )
        )
        return self._services[-1]

    def close(self) -> None:
        """Kill what runs, until all runs of the last process are over."""
        self.engine.kill_works = True
        self.site.away = False

        def are_over() -> bool:
            self.engine.kill_all()
            return not any(service._held.snapshot() for service in self._services[-1:])

        within(are_over, "all runs are over")
        for service in self._services:
            service.stop()
            if service._lock is not None:
                service._lock.close()

    def job(self, run_id: str, *, pull: PullPolicy = PullPolicy.NEVER, tolerant: bool = False) -> Job:
        """A submission of code: ingestion, then scoring."""
        program = {"target": "/app/program", "file": self._file(run_id.encode()), "unpack": True}
        stage = {"image": IMAGE, "pull": pull, "command": ["python3"], "limits": {"wall_s": WALL_S}}
        result = {"target": "/app/input/res", "stage_output": "ingestion"}
        return parse_job(
            {
                "run_id": run_id,
                "attempt": 1,
                "lease_id": run_id,
                "token": "t",
                "lease_s": 90,
                "heartbeat_s": 15,
                "gpus": 0,
                "columns": ["mae"],
                "stages": [
                    {**stage, "name": "ingestion", "mounts": [program], "tolerant": tolerant},
                    {**stage, "name": "scoring", "mounts": [program, result]},
                ],
            }
        )

    def _file(self, content: bytes) -> dict[str, Any]:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("main.py", content)
        packed = buffer.getvalue()
        sha256 = hashlib.sha256(packed).hexdigest()
        self.site.files[sha256] = packed
        return {"url": f"https://x/{sha256}", "sha256": sha256, "size_bytes": len(packed), "name": "program.zip"}

    def leave(self, job: Job, *, slot: int = 0, gpu_uuid: str | None = None) -> Predecessor:
        """Leave a run as a process does that had created its containers."""
        folder = RunFolder(self.folder / "runs", lease_key(job.lease_id))
        folder.create(job, gpu_uuid=gpu_uuid, slot=slot)
        execution = RunExecution(self.worker(), job, folder)
        execution.prepare()
        assert execution.verdict is None
        return Predecessor(self.engine, execution)


@dataclass
class Predecessor:
    """A run as a process left it. Programs write what they would, at moments in seconds before now."""

    engine: FakeEngine
    execution: RunExecution

    def container(self, stage: str) -> str:
        """The name of its container."""
        return self.execution.staged.stages[stage].spec.name

    def started(self, stage: str, ago_s: float = 1.0) -> Predecessor:
        """It was started, and still runs."""
        self.engine.set_started(self.container(stage), datetime.now(UTC) - timedelta(seconds=ago_s))
        self.execution.folder.record_start(stage, time.monotonic() - ago_s)
        return self

    def ended(self, stage: str, ago_s: float = 0.0, exit_code: int = 0) -> Predecessor:
        """It ended, and has written its output."""
        name, text = ("answer.txt", "1") if stage == "ingestion" else ("scores.json", '{"mae": 0.5}')
        (self.execution.staged.stages[stage].volume.path / name).write_text(text)
        self.engine.set_ended(self.container(stage), datetime.now(UTC) - timedelta(seconds=ago_s), exit_code)
        return self


def within(condition: Callable[[], Any], what: str) -> None:
    """Wait until it holds."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.01)

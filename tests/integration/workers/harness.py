"""Runs jobs in real containers without a site: input files come from a folder, results are returned."""

from __future__ import annotations

import hashlib
import io
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import APIClient
from workers.agent.context import LABEL_WORKER, Worker
from workers.agent.host.cache import StagingCache
from workers.agent.host.facts import host_record
from workers.agent.host.gpus import GpuSource
from workers.agent.runs.execution import RunExecution
from workers.agent.runs.state import RunFolder, lease_key
from workers.engines import engine_for
from workers.engines.docker.client import DockerEngine
from workers.local import LocalFiles
from workers.protocol.jobs import parse_job
from workers.sandbox.output_volume import loop_mounts_work

MIB = 1 << 20
BASE = "debian:bookworm-slim"
TEAM_IMAGE = f"podium/brought-by-a-team:{uuid.uuid4().hex[:8]}"  # tests in another process bring another
LIMITS = {
    "wall_s": 60,
    "memory_bytes": 128 * MIB,
    "cpus": 1.0,
    "pids": 64,
    "output_bytes": 16 * MIB,
    "output_files": 100,
    "tmp_bytes": 16 * MIB,
    "log_bytes": 256 << 10,
}
SCORER = """
import json, pathlib
value = float(pathlib.Path("/app/input/res/answer.txt").read_text())
pathlib.Path("/app/output/scores.json").write_text(json.dumps({"score": value}))
"""
SECRET = "the-secret-label-4711"


def make_worker(data_dir: Path, image: str, *, engine_url: str = "", runtime: str = "") -> Worker:
    """A worker on this machine's engine, or on another, with a name of its own."""
    engine = engine_for(engine_url)
    facts = engine.facts()
    for name in ("runs", "cache"):
        (data_dir / name).mkdir(parents=True, mode=0o700)
    quota = loop_mounts_work(data_dir)
    assert engine.find_image(image) is not None
    return Worker(
        name=f"test-{uuid.uuid4().hex[:8]}",
        data_dir=data_dir,
        engine=engine,
        facts=facts,
        client=LocalFiles(),
        cache=StagingCache(data_dir / "cache", max_bytes=1 << 30),
        gpus=GpuSource(),
        host=host_record(facts, [], quota=quota, runtime=runtime),
        quota=quota,
        runtime=runtime,
    )


def zipped(files: dict[str, str | bytes]) -> bytes:
    """A zip archive with these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@dataclass
class Outcome:
    """The result of a run."""

    result: dict[str, Any]
    execution: RunExecution
    outbox: dict[str, bytes]

    @property
    def reason(self) -> str | None:
        """The reason of a failure."""
        return self.result["reason"]  # type: ignore[no-any-return]  # JSON

    @property
    def code(self) -> str | None:
        """The stable code."""
        return self.result["code"]  # type: ignore[no-any-return]  # JSON

    @property
    def log(self) -> str:
        """The ingestion stage's log."""
        return self.outbox.get("ingestion.log", b"").decode(errors="replace")

    def archived(self, name: str = "predictions.zip") -> dict[str, bytes]:
        """The files of an uploaded archive."""
        with zipfile.ZipFile(io.BytesIO(self.outbox[name])) as archive:
            return {entry: archive.read(entry) for entry in archive.namelist()}


class Bench:
    """Makes jobs of little programs and runs them."""

    def __init__(self, worker: Worker, files: Path, image: str) -> None:
        self.worker = worker
        self._files = files
        self._image = image

    @property
    def docker(self) -> APIClient:
        """The SDK behind the engine, for what no worker does: building images, reading raw answers."""
        assert isinstance(self.worker.engine, DockerEngine)
        return self.worker.engine.api

    def file(self, content: bytes, name: str = "file.zip") -> dict[str, Any]:
        """A file reference of the protocol."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self._files / sha256
        path.write_bytes(content)
        return {"url": str(path), "sha256": sha256, "size_bytes": len(content), "name": name}

    def mount(self, target: str, files: dict[str, str | bytes], *, secret: bool = False) -> dict[str, Any]:
        """An unpacked archive as a mount."""
        return {"target": target, "file": self.file(zipped(files)), "unpack": True, "secret": secret}

    def program(self, target: str, source: str) -> dict[str, Any]:
        """A Python program as a mount, run without a shell."""
        files: dict[str, str | bytes] = {"main.py": source, "metadata.yaml": "command: python3 $program/main.py\n"}
        return self.mount(target, files)

    def stage(self, name: str, mounts: list[dict[str, Any]], **limits: float) -> dict[str, Any]:
        """A stage of the protocol."""
        return {
            "name": name,
            "image": self._image,
            "pull": "never",
            "mounts": mounts,
            "command_from": "/app/program",
            "command": None,
            "limits": LIMITS | limits,
            "network": False,
        }

    def job(self, stages: list[dict[str, Any]], columns: tuple[str, ...] = ("score",)) -> dict[str, Any]:
        """A job of the protocol."""
        return {
            "run_id": str(uuid.uuid4()),
            "attempt": 1,
            "lease_id": str(uuid.uuid4()),
            "token": "t",
            "lease_s": 90,
            "heartbeat_s": 15,
            "gpus": 0,
            "stages": stages,
            "columns": list(columns),
            "text_files": ["answer.*"],
        }

    def code_job(self, source: str, **limits: float) -> dict[str, Any]:
        """A code submission: the program, then a scorer that reads /app/output/answer.txt."""
        ingestion = self.stage(
            "ingestion",
            [self.program("/app/program", source), self.mount("/app/input_data", {"x.txt": "input"})],
            **limits,
        )
        scoring = self.stage(
            "scoring",
            [
                self.program("/app/program", SCORER),
                self.mount("/app/input/ref", {"labels.txt": SECRET}, secret=True),
                {"target": "/app/input/res", "stage_output": "ingestion"},
            ],
        )
        return self.job([ingestion, scoring])

    def prepared(self, job: dict[str, Any], *, slot: int = 0) -> RunExecution:
        """An execution whose containers are created and not started."""
        execution = self.claimed(job, slot=slot)
        execution.prepare()
        return execution

    def claimed(self, job: dict[str, Any], *, slot: int = 0) -> RunExecution:
        """An execution for which nothing is made yet."""
        parsed = parse_job(job)
        folder = RunFolder(self.worker.runs, lease_key(parsed.lease_id))
        folder.create(parsed, gpu_uuid=None, slot=slot)
        return RunExecution(self.worker, parsed, folder)

    def run(self, job: dict[str, Any]) -> Outcome:
        """Run a job to its end and clean up; asserts that nothing is left on the host."""
        return self.see_through(self.prepared(job))

    def see_through(self, execution: RunExecution, *, alone: bool = True) -> Outcome:
        """Execute, collect and clean up; `alone` asserts that nothing is left of any run."""
        execution.execute()
        outputs = execution.collect()
        result = execution.result(outputs)
        outbox = {name: (execution.folder.outbox / name).read_bytes() for name in outputs}
        execution.destroy()
        if alone:
            self.assert_nothing_left()
        return Outcome(result.model_dump(mode="json"), execution, outbox)

    def assert_nothing_left(self) -> None:
        """No container, folder, mount or control group of this worker."""
        assert self.worker.engine.list({LABEL_WORKER: self.worker.key}) == []
        assert list(self.worker.runs.iterdir()) == []
        assert str(self.worker.data_dir) not in Path("/proc/self/mounts").read_text()
        groups = [path for path in Path("/sys/fs/cgroup").glob("*/podium/*") if self.worker.key in path.name]
        assert groups == []

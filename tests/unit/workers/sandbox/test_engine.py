"""The engine going away while a container runs, with a double of the SDK."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import ReadTimeoutError

from tests.unit.workers.limits import limits
from workers.engines.base import EngineFacts
from workers.engines.docker.client import DockerEngine
from workers.errors import SandboxError

FACTS = EngineFacts("Docker Engine", "28", "v1", "cgroupfs", "Debian", "6.1", "overlay2")
POOL = HTTPConnectionPool("127.0.0.1")
RUNNING = {
    "Status": "running",
    "ExitCode": 0,
    "OOMKilled": False,
    "StartedAt": "2030-01-01T00:00:00Z",
    "FinishedAt": "0001-01-01T00:00:00Z",
}
KILLED = {**RUNNING, "Status": "exited", "ExitCode": 137, "FinishedAt": "2030-01-01T00:00:01Z"}


def timed_out() -> None:
    raise requests.ConnectionError(ReadTimeoutError(POOL, "/wait", "Read timed out."))


def fail_to_connect() -> None:
    raise requests.ConnectionError("Connection aborted.")


class Api:
    """Answers waits one by one; the container's state is `state`."""

    def __init__(self, state: dict[str, Any], *waits: Callable[[], None]) -> None:
        self.state = state
        self.waits = list(waits)

    def wait(self, container: str, timeout: float) -> None:
        self.waits.pop(0)()

    def inspect_container(self, container: str) -> dict[str, Any]:
        return {"Id": container, "State": self.state, "Config": {"Labels": {}}}


def engine_with(api: Api) -> DockerEngine:
    engine = object.__new__(DockerEngine)
    engine._facts = FACTS
    engine.api = api  # type: ignore[assignment]  # the part of it that a wait needs
    return engine


def test_a_wait_that_times_out_is_asked_again_while_the_container_runs() -> None:
    api = Api(RUNNING, timed_out, timed_out, lambda: None)
    engine_with(api).wait("c")
    assert api.waits == []


def test_a_container_that_ended_while_the_wait_timed_out_is_noticed() -> None:
    engine_with(Api(KILLED, timed_out)).wait("c")


def test_a_connection_that_breaks_is_the_engines_failure_even_when_the_container_has_ended() -> None:
    with pytest.raises(SandboxError) as error:
        engine_with(Api(KILLED, fail_to_connect)).wait("c")
    assert error.value.code == "engine_unreachable"


def test_a_stage_that_ended_while_the_engine_was_away_is_not_the_participants_failure(tmp_path: Any) -> None:
    from workers.engines.spec import StageSpec
    from workers.sandbox.output_volume import OutputVolume
    from workers.sandbox.stage import StageRun

    api: Any = Api(KILLED, fail_to_connect, lambda: None)
    api.start = lambda container: None
    api.kill = lambda container: None
    api.base_url, api.api_version, api.get = "http+docker://localhost", "1.41", lambda *_, **__: fail_to_connect()
    given = limits(10, memory_bytes=1 << 27, cpus=1.0)
    volume = OutputVolume(tmp_path, "o", size_bytes=1 << 20, files=10, quota=False)
    volume.create()
    spec = StageSpec("n", "i", ("x",), (), volume.path, given, {}, "/podium/x")
    stage = StageRun("ingestion", engine_with(api), spec, volume, container="c")
    with pytest.raises(SandboxError) as error:
        stage.execute()
    assert error.value.code == "engine_lost"
    assert threading.active_count() < 20


def test_files_of_an_image_that_are_another_users_are_counted_by_its_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(folders: Sequence[Path]) -> Iterator[str]:
        yield str(folders[0] / "usr")
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    engine = DockerEngine.__new__(DockerEngine)
    layers = {"GraphDriver": {"Name": "overlay", "Data": {"UpperDir": str(tmp_path)}}}
    monkeypatch.setattr(engine, "api", SimpleNamespace(inspect_image=lambda image: layers), raising=False)
    monkeypatch.setattr("workers.engines.docker.client._entries_below", forbidden)
    monkeypatch.setattr(DockerEngine, "_entries_of_archive", lambda engine, image, at_most: 700)
    assert engine.image_entries("i", 1000) == 700

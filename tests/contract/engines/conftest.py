"""Every engine that workers know, each on this machine.

A further one is a further entry of `ENGINES`, and of `STARTS` in `tests/engines.py`.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.engines import TestedEngine, skip_unless_held, start
from tests.services import Services
from workers.engines.base import ContainerState, Engine, EngineFacts
from workers.engines.images import ImageFacts
from workers.engines.spec import Runner, StageSpec
from workers.protocol.hosts import HeldLimit
from workers.protocol.jobs import PullPolicy
from workers.protocol.limits import MIB, Limits

ENGINES = ("docker", "podman") if os.geteuid() == 0 else ("podman-rootless",)
LIMITS = Limits(
    wall_s=60,
    memory_bytes=64 * MIB,
    cpus=1.0,
    pids=32,
    output_bytes=4 * MIB,
    output_files=20,
    tmp_bytes=4 * MIB,
    log_bytes=MIB,
)


class _EmptyRegistry(BaseHTTPRequestHandler):
    """A registry without a repository, by the distribution specification."""

    def do_GET(self) -> None:
        is_known = self.path == "/v2/"
        body = b"{}" if is_known else b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815  # the name is the library's

    def log_message(self, *args: object) -> None:
        """Nothing: the engine asks for encryption first, which would be logged as nonsense."""


@contextmanager
def empty_registry() -> Iterator[str]:
    """The address of a registry on this machine that has nothing."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _EmptyRegistry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@dataclass
class Stage:
    """An engine and a folder, for containers that run a line of Python or shell."""

    tested: TestedEngine
    engine: Engine
    facts: EngineFacts
    image_facts: ImageFacts
    folder: Path
    image: str = field(init=False)
    key: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    specs: list[StageSpec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.image = self.tested.image

    def spec(self, *argv: str, **changes: Any) -> StageSpec:
        """A container's description; its output is a folder of its own."""
        number = len(self.specs)
        output = self.folder / f"output{number}"
        output.mkdir()
        output.chmod(0o777)
        described = StageSpec(
            name=f"podium-contract-{self.key}-{number}",
            image=self.image,
            argv=argv,
            mounts=(),
            output=output,
            limits=LIMITS,
            labels={"podium.contract": self.key, "podium.number": str(number)},
            group=f"{self.key}n{number}",
            image_facts=self.image_facts,
            runner=Runner(offset=self.facts.user_offset),
        )
        self.specs.append(replace(described, **changes))
        return self.specs[-1]

    def needs(self, *limits: HeldLimit) -> None:
        """Skip a test of limits that the engine says it does not hold."""
        skip_unless_held(self.facts, *limits)

    def started(self, *argv: str, **changes: Any) -> str:
        """A container that runs."""
        container = self.engine.prepare(self.spec(*argv, **changes))
        self.engine.start(container)
        return container

    def ended(self, *argv: str, **changes: Any) -> ContainerState:
        """A container that has run to its end."""
        container = self.started(*argv, **changes)
        self.engine.wait(container)
        return self.engine.observe(container)

    def text(self, container: str) -> str:
        """All that it wrote."""
        return b"".join(self.engine.collect(container, follow=False)).decode()

    def clear(self) -> None:
        """Remove everything."""
        for spec in self.specs:
            self.engine.remove(spec.name)
            self.engine.release(spec.group)


Connected = tuple[TestedEngine, Engine, EngineFacts, ImageFacts]


def connect(tested: TestedEngine) -> Connected:
    """An engine, and what it says of itself and of its image: some start a handful of programs to say it."""
    engine = tested.connect()
    return tested, engine, engine.facts(), engine.ensure_image(tested.image, PullPolicy.NEVER)


@pytest.fixture(scope="module", params=ENGINES)
def connected(request: pytest.FixtureRequest, real: Services) -> Connected:
    return connect(start(request.param, real))


@pytest.fixture
def stage(connected: Connected, tmp_path: Path) -> Iterator[Stage]:
    tmp_path.chmod(0o755)
    prepared = Stage(*connected, tmp_path)
    yield prepared
    prepared.clear()

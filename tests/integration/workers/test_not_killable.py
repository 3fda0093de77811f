"""On the real engine: a container that no kill ends is given up, and holds its run no longer."""

from __future__ import annotations

import pytest

from tests.integration.workers.harness import Bench
from workers.engines.docker.client import DockerEngine


def test_a_run_whose_container_cannot_be_killed_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.sandbox.watch.NOT_KILLED_S", 2.0)
    monkeypatch.setattr("workers.engines.docker.client.WAIT_ROUND_S", 1)
    monkeypatch.setattr(DockerEngine, "kill", lambda engine, container: None)
    outcome = bench.run(bench.code_job("import time; time.sleep(60)", wall_s=1))
    assert (outcome.reason, outcome.code) == ("infrastructure", "not_killable")

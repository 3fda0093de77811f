"""Containers have a network only if both their phase and their worker allow one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.workers.harness import Bench


@pytest.fixture(scope="module")
def _bridge() -> None:
    """Skip if the engine has lost its bridge `docker0`: that says nothing about the worker."""
    if not Path("/sys/class/net/docker0").exists():
        pytest.skip("this machine's Docker Engine has lost its bridge docker0")


INTERFACES = """
import pathlib, socket
names = sorted(name for _, name in socket.if_nameindex())
print("interfaces:", names)
pathlib.Path("/app/output/answer.txt").write_text("1")
"""


def networked(bench: Bench, *, has_network: bool) -> dict[str, Any]:
    """A code submission that prints its network interfaces; `asked`: its phase allows it a network."""
    job = bench.code_job(INTERFACES)
    job["stages"][0]["network"] = has_network
    return job


@pytest.mark.usefixtures("_bridge")
def test_a_phase_that_allows_a_network_gets_one_and_no_other_does(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.worker, "allow_network", True)
    outcome = bench.run(networked(bench, has_network=True))
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 1.0}), outcome.result["detail"]
    assert "interfaces: ['eth0', 'lo']" in outcome.log
    outcome = bench.run(networked(bench, has_network=False))
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 1.0}), outcome.result["detail"]
    assert "interfaces: ['lo']" in outcome.log


def test_a_worker_that_was_not_started_to_allow_networks_refuses_such_a_run(bench: Bench) -> None:
    assert bench.worker.allow_network is False
    outcome = bench.run(networked(bench, has_network=True))
    assert (outcome.reason, outcome.code) == ("infrastructure", "network_refused")
    assert "not started to allow it" in outcome.result["detail"]
    assert outcome.result["stages"] == [], "nothing was started"

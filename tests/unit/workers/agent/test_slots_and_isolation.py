"""Slots with their cores and GPUs, slots out of service, and an engine's means of isolation."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.workers.agent.test_pieces import FakeNvml
from tests.unit.workers.protocol.test_jobs_and_settings import changed
from workers.agent.allocation import NO_ALLOCATION, RunAllowance
from workers.agent.config import Config, ConfigError
from workers.agent.context import Worker
from workers.agent.host.gpus import NvmlGpus
from workers.agent.host.slots import Slot, share_cores
from workers.agent.service import check_isolation
from workers.agent.site.claiming import Claimer
from workers.agent.site.wakeups import Wakeups
from workers.engines.base import EngineFacts
from workers.engines.docker.config import host_config
from workers.engines.spec import StageSpec
from workers.protocol.calls import Claim
from workers.protocol.limits import Limits
from workers.protocol.results import Complete

FACTS = EngineFacts("Docker Engine", "28", "v2", "systemd", "Debian", "6.12", "overlay2", runtimes=("runc", "runsc"))
CONFIG = Config(site="https://x", token="t", data_dir=Path("/x"), name="w")


class Claims:
    """The part of the site's client that a claimer uses: it keeps what was said, and has no work."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []

    def claim(self, message: Claim) -> None:
        self.said.append(message.model_dump(mode="json"))


def worker_with(nvml: FakeNvml, claims: Claims) -> Worker:
    parts = SimpleNamespace(
        gpus=NvmlGpus(nvml),
        stopping=threading.Event(),
        slot_faults={},
        images=None,
        allocation=NO_ALLOCATION,
        allowance=RunAllowance(),
        client=claims,
        cache=SimpleNamespace(free_bytes=lambda: 1 << 40, missing_inodes=lambda: 0),
        facts=FACTS,
        engine=SimpleNamespace(ping=lambda: None),
    )
    return cast("Worker", parts)


def test_a_slot_whose_gpu_is_not_clean_is_out_of_service_reported_and_looked_at_again() -> None:
    nvml, claims = FakeNvml(), Claims()
    worker = worker_with(nvml, claims)
    slots = [Slot(worker, 0, "GPU-0"), Slot(worker, 1, "MIG-1")]
    claimer = Claimer(worker, Wakeups(), worker_id="w", poll_s=0.01, reserve_bytes=0)
    nvml.processes = [4711]
    assert slots[1].check_gpu() == "1 processes are still on the GPU MIG-1"
    nvml.processes = []
    claimer._try(slots[0])
    report = {"slot": 1, "gpu_uuid": "MIG-1", "detail": "1 processes are still on the GPU MIG-1"}
    assert (claims.said[-1]["free_gpus"], claims.said[-1]["slot_faults"]) == (1, [report])
    claimer._try(slots[1])
    assert (claims.said[-1]["free_gpus"], claims.said[-1]["slot_faults"]) == (1, []), "it is clean again"


def test_a_gpu_that_fell_off_the_bus_takes_its_slot_out_of_service() -> None:
    claims = Claims()
    worker = worker_with(FakeNvml(), claims)
    slot = Slot(worker, 0, "GPU-gone")
    assert "cannot read the GPU GPU-gone" in str(slot.check_gpu())
    Claimer(worker, Wakeups(), worker_id="w", poll_s=0.01, reserve_bytes=0)._try(slot)
    assert claims.said[-1]["free_gpus"] == 0
    assert claims.said[-1]["slot_faults"][0]["gpu_uuid"] == "GPU-gone"


def test_a_worker_whose_disk_can_take_too_few_files_asks_for_nothing() -> None:
    claims = Claims()
    worker = worker_with(FakeNvml(), claims)
    worker.cache.missing_inodes = lambda: 7  # type: ignore[method-assign]
    assert Claimer(worker, Wakeups(), worker_id="w", poll_s=0.01, reserve_bytes=0)._try(Slot(worker, 0, None)) is None
    assert claims.said == []


def test_a_claim_keeps_its_id_until_it_is_answered() -> None:
    claims = Claims()
    worker = worker_with(FakeNvml(), claims)
    slot, claimer = Slot(worker, 0, None), Claimer(worker, Wakeups(), worker_id="w", poll_s=0.01, reserve_bytes=0)
    claimer._try(slot)
    claimer._try(slot)
    assert claims.said[0]["claim_id"] != claims.said[1]["claim_id"]
    from workers.agent.site.client import SiteUnreachable

    def lose_claim(message: Claim) -> None:
        claims.said.append(message.model_dump(mode="json"))
        raise SiteUnreachable("no answer")

    claims.claim = lose_claim  # type: ignore[method-assign]
    claimer._try(slot)
    claimer._try(slot)
    assert claims.said[2]["claim_id"] == claims.said[3]["claim_id"]


def test_a_job_that_this_worker_does_not_understand_is_answered_for_at_once() -> None:
    job = changed(lambda message: message["stages"][0].update(name="warm-up"))
    answers: list[tuple[str, str, Complete]] = []

    class Site(Claims):
        def claim(self, message: Claim) -> dict[str, Any]:  # type: ignore[override]
            return job

        def complete(self, run_id: str, token: str, message: Complete, *, patience_s: float) -> None:
            answers.append((run_id, token, message))

    worker = worker_with(FakeNvml(), Site())
    claimer = Claimer(worker, Wakeups(), worker_id="w", poll_s=0.01, reserve_bytes=0)
    assert claimer._try(Slot(worker, 0, None)) is None
    run_id, token, answer = answers[0]
    assert (run_id, token, answer.lease_id, answer.attempt) == (
        job["run_id"],
        job["token"],
        job["lease_id"],
        job["attempt"],
    )
    assert (answer.outcome, answer.reason, answer.code) == ("failed", "infrastructure", "job_invalid")
    assert "warm-up" in answer.detail


@pytest.mark.parametrize(
    ("cores", "slots", "shares"),
    [
        ([0, 1, 2, 3], 1, [()]),
        ([0, 1, 2, 3], 2, [(0, 1), (2, 3)]),
        ([0, 1, 2, 3, 4, 5, 6], 3, [(0, 1), (2, 3), (4, 5)]),
        ([4, 5], 3, [(), (), ()]),
    ],
)
def test_cores_are_shared_out_and_never_twice(cores: list[int], slots: int, shares: list[tuple[int, ...]]) -> None:
    assert share_cores(cores, slots) == shares


def test_a_container_gets_exactly_its_gpu_by_uuid_its_cores_and_its_runtime() -> None:
    limits = Limits(wall_s=5)
    spec = StageSpec(
        name="n",
        image="i",
        argv=("x",),
        mounts=(),
        output=Path("/o"),
        limits=limits,
        labels={},
        group="p",
        gpu_uuid="MIG-0",
        cpuset="2,3",
        runtime="runsc",
    )
    host = host_config(spec, "/podium/p")
    assert [request["DeviceIDs"] for request in host["DeviceRequests"]] == [["MIG-0"]]
    assert (host["CpusetCpus"], host["Runtime"]) == ("2,3", "runsc")
    assert host_config(replace(spec, gpu_uuid=None), "/podium/p")["DeviceRequests"] == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (replace(CONFIG, runtime="kata"), "it has runc, runsc"),
        (replace(CONFIG, require_isolation="userns"), "without user namespaces"),
        (replace(CONFIG, require_isolation="gvisor"), "--runtime runsc"),
    ],
)
def test_isolation_that_the_host_has_not_ends_the_start(config: Config, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check_isolation(FACTS, config)


def test_isolation_that_the_host_has_is_taken() -> None:
    check_isolation(FACTS, CONFIG)
    check_isolation(FACTS, replace(CONFIG, runtime="runsc", require_isolation="gvisor"))
    check_isolation(replace(FACTS, user_namespaces=True), replace(CONFIG, require_isolation="userns"))

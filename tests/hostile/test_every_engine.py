"""Code of a phase that is to run in gVisor; `PODIUM_TEST_ENGINE` takes this folder to another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engines import start, with_root
from tests.hostile.programs import resources
from tests.hostile.test_abuse import ALL, DIFFERENT_IN_GVISOR
from tests.integration.workers.harness import Bench, make_worker
from tests.services import Services
from workers.protocol.hosts import Isolation

pytestmark = with_root
PROGRAMS = (
    "fork_bomb",
    "mem_hog",
    "disk_fill_output",
    "network_egress, metadata_service and docker_socket",
    "fake_oom_exit",
)
KERNEL = "import os\nprint(os.uname().release)\nopen('/app/output/answer.txt', 'w').write('0.5')\n"


def bench_on(name: str, real: Services, folder: Path) -> Bench:
    """A worker on this engine, without a runtime of its own."""
    engine = start(name, real)
    files = folder / "files"
    files.mkdir()
    worker = make_worker(folder / "worker", engine.image, engine_url=engine.url)
    worker.isolations = worker.facts.isolations("")
    return Bench(worker, files, engine.image)


@pytest.fixture(scope="module")
def plain(real: Services, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench_on("docker", real, tmp_path_factory.mktemp("docker"))


@pytest.fixture(scope="module")
def gvisor(real: Services, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench_on("gvisor", real, tmp_path_factory.mktemp("gvisor"))


def sandboxed(job: dict[str, Any]) -> dict[str, Any]:
    return job | {"isolation": Isolation.SANDBOXED}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_comes_to_the_same_end_in_gvisor(gvisor: Bench, name: str) -> None:
    case = (ALL | DIFFERENT_IN_GVISOR)[name]
    outcome = gvisor.run(sandboxed(gvisor.code_job(case.source, **case.limits)))
    assert (outcome.reason, case.code or outcome.code) == (case.reason, outcome.code), outcome.log[-1500:]
    assert case.check(outcome), outcome.log[-1500:]


def test_code_of_a_phase_in_gvisor_meets_its_kernel_and_the_scoring_program_that_of_the_host(gvisor: Bench) -> None:
    job = sandboxed(gvisor.code_job(KERNEL))
    outcome = gvisor.run(job)
    assert outcome.log == "4.4.0\n", "the release that gVisor always gives"
    assert outcome.result["scores"] == {"score": 0.5}
    assert gvisor.run(gvisor.code_job(KERNEL)).log.strip() == gvisor.worker.facts.kernel


def test_a_worker_without_gvisor_refuses_code_that_is_to_run_there(plain: Bench) -> None:
    outcome = plain.run(sandboxed(plain.code_job(resources.SLEEP_PAST_LIMIT)))
    assert (outcome.reason, outcome.code) == ("infrastructure", "sandbox_missing")

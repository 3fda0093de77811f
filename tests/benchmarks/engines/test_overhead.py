"""Start-up and overhead of Docker, Podman and gVisor beside the bare host, in seconds."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.engines.conftest import LIMITS, Stage, connect
from tests.engines import IMAGE, TestedEngine, start
from tests.services import Services
from workers.protocol.limits import MIB

ROUNDS = 5
PROGRAMS = {
    "empty program": "pass",
    "200,000 calls of stat": "import os\nfor n in range(200_000):\n    os.stat('/usr')",
    "2,000 files": "for n in range(2000):\n    open(f'{output}/{{n}}', 'w').close()",
    "5 million additions": "n = 0\nfor x in range(5_000_000):\n    n += x",
}
ROOMY = LIMITS.model_copy(update={"memory_bytes": 256 * MIB, "pids": 256, "output_files": 5000})
Runner = Callable[[str], None]


def in_container(stage: Stage) -> Runner:
    """Runs a program from asking for a container to its end."""

    def run(source: str) -> None:
        program = source.format(output="/app/output")
        state = stage.ended("python3", "-c", program, runtime=stage.tested.runtime, limits=ROOMY)
        assert state.exit_code == 0, stage.text(state.id)[-500:]

    return run


def on_host(folder: Path) -> Runner:
    """Runs a program as a process of this host."""

    def run(source: str) -> None:
        subprocess.run([sys.executable, "-S", "-c", source.format(output=folder)], check=True)

    return run


def seconds(run: Runner, source: str) -> float:
    began = time.perf_counter()
    run(source)
    return time.perf_counter() - began


def described(stage: Stage) -> str:
    """An engine with its versions."""
    facts = stage.facts
    runtimes = " ".join(sorted(facts.runtimes))
    return f"{stage.tested.name}: {facts.name} {facts.version}, runtimes {runtimes}, cgroup {facts.cgroup_version}, {facts.storage_driver}"


@pytest.mark.timeout(1800)
def test_the_three_beside_the_bare_host(real: Services, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    engines = [TestedEngine("docker", "", "", IMAGE), start("podman", real), start("gvisor", real)]
    stages = [Stage(*connect(engine), _folder(tmp_path, engine.name)) for engine in engines]
    runners = {"host": on_host(_folder(tmp_path, "host"))} | {
        stage.tested.name: in_container(stage) for stage in stages
    }
    print("", *map(described, stages), f"{os.cpu_count()} cores; medians of {ROUNDS} rounds, in turns", sep="\n")
    print(f"{'':<24}" + "".join(f"{name:>10}" for name in runners))
    try:
        for name, source in PROGRAMS.items():
            # In turns: a machine that is busy for a while is busy for all of them.
            times = [{where: seconds(run, source) for where, run in runners.items()} for _ in range(ROUNDS)]
            medians = [statistics.median(turn[where] for turn in times) for where in runners]
            print(f"{name:<24}" + "".join(f"{median:>8.2f} s" for median in medians))
    finally:
        for stage in stages:
            stage.clear()


def _folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder

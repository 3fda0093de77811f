"""Start-up and overhead of Docker, Podman and gVisor side by side: seconds, printed in one run."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from tests.contract.engines.conftest import LIMITS, Stage
from tests.engines import IMAGE, TestedEngine, start
from tests.services import Services
from workers.protocol.limits import MIB

ROUNDS = 3
PROGRAMS = {
    "empty container": "pass",
    "200,000 calls of stat": "import os\nfor n in range(200_000):\n    os.stat('/usr')",
    "2,000 files": "for n in range(2000):\n    open(f'/app/output/{n}', 'w').close()",
    "5 million additions": "n = 0\nfor x in range(5_000_000):\n    n += x",
}
ROOMY = LIMITS.model_copy(update={"memory_bytes": 256 * MIB, "pids": 256, "output_files": 5000})


def seconds(stage: Stage, source: str, runtime: str) -> float:
    """From asking for a container to its end."""
    began = time.perf_counter()
    stage.ended("python3", "-c", source, runtime=runtime, limits=ROOMY)
    return time.perf_counter() - began


def test_the_three_side_by_side(real: Services, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    engines = [start("docker", real), start("podman", real), start("gvisor", real)]
    engines[0] = TestedEngine("docker", "", "", IMAGE)
    stages = [(engine, Stage(engine, engine.connect(), _folder(tmp_path, engine.name))) for engine in engines]
    print(f"\n{'':<24}" + "".join(f"{engine.name:>10}" for engine in engines))
    try:
        for name, source in PROGRAMS.items():
            medians = [
                statistics.median(seconds(stage, source, engine.runtime) for _ in range(ROUNDS))
                for engine, stage in stages
            ]
            print(f"{name:<24}" + "".join(f"{median:>8.2f} s" for median in medians))
    finally:
        for _, stage in stages:
            stage.clear()
    assert stages


def _folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder

"""Two containers of one step: if one cannot go on, the other does not wait for its own limit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.workers.harness import SCORER, Bench
from workers.engines.docker.client import DockerEngine
from workers.errors import SandboxError

WAITS = "import time\ntime.sleep(60)\n"


def jobs_by_step(bench: Bench) -> dict[str, dict[str, Any]]:
    first = bench.stage("ingestion", [bench.program("/app/program", WAITS)]) | {"step": 1}
    own = bench.stage("submission", [bench.program("/app/program", WAITS)]) | {"step": 1}
    beside = bench.stage("ingestion", [bench.program("/app/program", WAITS)]) | {"step": 2}
    scoring = bench.stage("scoring", [bench.program("/app/program", SCORER + WAITS)]) | {"step": 2}
    return {"first step": bench.job([own, first]), "last step": bench.job([beside, scoring])}


@pytest.mark.parametrize("step", ["first step", "last step"])
@pytest.mark.parametrize("broken", ["ingestion", "the other"])
def test_a_stage_that_the_engine_fails_ends_the_one_beside_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, step: str, broken: str
) -> None:
    execution = bench.prepared(jobs_by_step(bench)[step])
    names = list(execution.staged.stages)
    failing = broken if broken in names else next(name for name in names if name != "ingestion")
    container = execution.staged.stages[failing].container
    start = DockerEngine.start

    def fails(engine: DockerEngine, started: str) -> None:
        if started == container:
            raise SandboxError("engine_error", "no space left on device")
        start(engine, started)

    monkeypatch.setattr(DockerEngine, "start", fails)
    outcome = bench.see_through(execution)
    assert (outcome.reason, outcome.code) == ("infrastructure", "engine_error")
    other = next(stage for name, stage in execution.staged.stages.items() if name != failing)
    assert other._watch is None or other._watch.killed_by == "stage_beside_failed"

"""The janitor removes what no lease stands behind, and nothing else, whatever happens while it sweeps."""

from __future__ import annotations

import pytest

from tests.integration.workers.harness import Bench
from workers.agent.context import LABEL_WORKER
from workers.agent.execution import RunExecution
from workers.agent.handling import HeldRuns
from workers.agent.janitor import sweep
from workers.agent.state import lease_key
from workers.sandbox.engine import Engine

PROGRAM = "open('/app/output/answer.txt', 'w').write('0.5')"


def test_a_run_that_is_claimed_during_a_sweep_is_left_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldRuns()
    job = bench.code_job(PROGRAM)
    claimed: list[RunExecution] = []
    listed = Engine.labelled

    def claim_meanwhile(engine: Engine, labels: dict[str, str]) -> list[str]:
        if not claimed:
            held.add(lease_key(job["lease_id"]))
            claimed.append(bench.prepared(job))
        return listed(engine, labels)

    monkeypatch.setattr(Engine, "labelled", claim_meanwhile)
    assert sweep(bench.worker, held.snapshot) == 0
    assert bench.see_through(claimed[0]).result["scores"] == {"score": 0.5}


def test_what_no_lease_stands_behind_is_removed(bench: Bench) -> None:
    held = HeldRuns()
    execution = bench.prepared(bench.code_job(PROGRAM))
    held.add(execution.folder.lease)
    assert sweep(bench.worker, held.snapshot) == 0
    held.drop(execution.folder.lease)
    assert sweep(bench.worker, held.snapshot) > 0
    assert bench.worker.engine.labelled({LABEL_WORKER: bench.worker.key}) == []
    bench.assert_nothing_left()

"""Builds the benchmark in Codabench's version 2: `python -m examples.autorl_jobshop.bundle DEST`."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from examples.writing import benchmark, copy_parts, main, write_yaml

HERE = Path(__file__).resolve().parent
IMAGE = "podium/runtime:1"
INSTANCES, JOBS, MACHINES, OPERATIONS = 3, 15, 4, 4
BREAKDOWNS = 6


def build_bundle(dest: Path, *, now: datetime, seed: int = 3) -> Path:
    """Write the bundle into `dest`, a folder that does not exist yet; its phase is open from `now` on."""
    copy_parts(HERE, dest, ("pages", "ingestion_program", "scoring_program"))
    rng = np.random.default_rng(seed)
    (dest / "reference_data").mkdir()
    instances = [instance(rng) for _ in range(INSTANCES)]
    (dest / "reference_data" / "instances.json").write_text(json.dumps(instances))
    return write_yaml(dest, competition(now))


def instance(rng: np.random.Generator) -> dict[str, Any]:
    """Draw one shop: arrivals, routes, durations and breakdowns, in units of time without a name."""
    arrivals = np.cumsum(rng.exponential(2.0, size=JOBS)).round(2)
    jobs = [
        {
            "arrives": float(arrives),
            "operations": [
                [int(machine), float(duration)]
                for machine, duration in zip(
                    rng.permutation(MACHINES)[:OPERATIONS], rng.uniform(1, 9, size=OPERATIONS).round(2), strict=True
                )
            ],
        }
        for arrives in arrivals
    ]
    begins = rng.uniform(0, JOBS * 4, size=BREAKDOWNS).round(2)
    breakdowns = [
        [int(rng.integers(MACHINES)), float(begin), float((begin + length).round(2))]
        for begin, length in zip(begins, rng.uniform(2, 8, size=BREAKDOWNS), strict=True)
    ]
    return {"machines": MACHINES, "jobs": jobs, "breakdowns": breakdowns}


def competition(now: datetime) -> dict[str, object]:
    """The content of `competition.yaml`, in Codabench's keys alone."""
    task = {
        "name": "Job shop",
        "description": "Dynamic job shop with machine breakdowns",
        "ingestion_program": "ingestion_program",
        "scoring_program": "scoring_program",
        "reference_data": "reference_data",
        "ingestion_only_during_scoring": True,
    }
    return benchmark(
        title="AutoRL job shop",
        description="An agent schedules a shop whose machines break down.",
        image=IMAGE,
        now=now,
        tasks=[task],
        phase={"name": "Benchmark", "execution_time_limit": 300},
        board={
            "title": "Results",
            "submission_rule": "Force_Best",
            "primary_index": 0,
            "columns": [
                {"title": "Flow time", "key": "flow_time", "index": 0, "sorting": "asc", "precision": 2},
                {"title": "Makespan", "key": "makespan", "index": 1, "sorting": "asc", "precision": 2},
            ],
        },
    )


if __name__ == "__main__":
    raise SystemExit(main("autorl_jobshop", build_bundle))

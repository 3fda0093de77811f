"""Builds the benchmark in Codabench's version 2: `python -m examples.deconbench_small.bundle DEST`."""

from datetime import datetime
from pathlib import Path

import numpy as np

from examples.writing import benchmark, copy_parts, main, write_yaml

HERE = Path(__file__).resolve().parent
IMAGE = "podium/r:1"  # built from image/Dockerfile
PROBES, SAMPLES, TYPES = 200, 30, 3
NOISE = 0.02


def build_bundle(dest: Path, *, now: datetime, seed: int = 11) -> Path:
    """Write the bundle into `dest`, a folder that does not exist yet; its phase is open from `now` on."""
    copy_parts(HERE, dest, ("pages", "ingestion_program", "scoring_program"))
    rng = np.random.default_rng(seed)
    profiles = rng.beta(0.5, 0.5, size=(PROBES, TYPES))  # methylation is mostly near 0 or near 1
    proportions = rng.dirichlet(np.full(TYPES, 0.7), size=SAMPLES).T
    mixtures = np.clip(profiles @ proportions + rng.normal(scale=NOISE, size=(PROBES, SAMPLES)), 0, 1)
    for folder in ("input_data", "reference_data"):
        (dest / folder).mkdir()
    np.savetxt(dest / "input_data" / "mixtures.csv", mixtures, delimiter=",", fmt="%.6f")
    (dest / "input_data" / "types.txt").write_text(f"{TYPES}\n")
    np.savetxt(dest / "reference_data" / "proportions.csv", proportions, delimiter=",", fmt="%.6f")
    return write_yaml(dest, competition(now))


def competition(now: datetime) -> dict[str, object]:
    """The content of `competition.yaml`, in Codabench's keys alone."""
    task = {
        "name": "Methylation",
        "description": "Proportions of three cell types",
        "scoring_program": "scoring_program",
        "ingestion_program": "ingestion_program",
        "input_data": "input_data",
        "reference_data": "reference_data",
    }
    column = {"title": "MAE", "key": "mae", "index": 0, "sorting": "asc", "precision": 4}
    return benchmark(
        title="DECONbench in small",
        description="Estimate the cell types of mixed samples, in R.",
        image=IMAGE,
        now=now,
        tasks=[task],
        phase={"name": "Benchmark", "execution_time_limit": 300},
        board={"title": "Results", "submission_rule": "Force_Latest_Multiple", "columns": [column]},
    )


if __name__ == "__main__":
    raise SystemExit(main("deconbench_small", build_bundle))

"""Builds the benchmark as a bundle: `python -m examples.cometh_small.bundle DEST`."""

import shutil
from datetime import datetime
from pathlib import Path

import numpy as np

from examples.writing import LEFT_OUT, benchmark, copy_parts, main, write_yaml

HERE = Path(__file__).resolve().parent
IMAGE = "podium/runtime:1"
ALGORITHMS = {"mean": "Equal parts", "least_squares": "Least squares", "projection": "Projected gradients"}


def build_bundle(dest: Path, *, now: datetime) -> Path:
    """Write the bundle into `dest`, a folder that does not exist yet; its phase is open from `now` on."""
    copy_parts(HERE, dest, ("pages", "scoring_program"))
    for name in ALGORITHMS:
        target = dest / f"algorithm_{name}"
        shutil.copytree(HERE / "algorithms" / name, target, ignore=LEFT_OUT)
        shutil.copy(HERE / "algorithms" / "common.py", target)
    return write_yaml(dest, competition(now))


def dataset(
    dest: Path, *, probes: int = 100, samples: int = 12, types: int = 4, noise: float = 0.03, seed: int = 5
) -> Path:
    """Write a dataset as a participant would send it, into the folder `dest`."""
    rng = np.random.default_rng(seed)
    profiles = rng.beta(0.5, 0.5, size=(probes, types))
    proportions = rng.dirichlet(np.full(types, 0.7), size=samples).T
    mixtures = np.clip(profiles @ proportions + rng.normal(scale=noise, size=(probes, samples)), 0, 1)
    dest.mkdir(parents=True, exist_ok=True)
    for name, matrix in (("mixtures", mixtures), ("profiles", profiles), ("proportions", proportions)):
        np.savetxt(dest / f"{name}.csv", matrix, delimiter=",", fmt="%.6f")
    return dest


def competition(now: datetime) -> dict[str, object]:
    """The content of `competition.yaml`; what Codabench has no key for stands under `podium`."""
    return benchmark(
        title="COMETH in small",
        description="Bring your dataset and see which algorithm suits it.",
        image=IMAGE,
        now=now,
        tasks=[
            {"name": title, "ingestion_program": f"algorithm_{name}", "scoring_program": "scoring_program"}
            for name, title in ALGORITHMS.items()
        ],
        phase={
            "name": "Datasets",
            "execution_time_limit": 120,
            "podium": {"accepts": ["dataset"], "slug": "data-sets"},
        },
        board={
            "title": "Datasets",
            "submission_rule": "Force_Latest_Multiple",
            "primary_index": 0,
            "podium": {"transposed": True, "show_tasks": True},
            "columns": [
                {"title": "MAE", "key": "mae", "index": 0, "sorting": "asc", "precision": 4},
                {"title": "Samples", "key": "samples", "index": 1, "sorting": "desc", "precision": 0},
            ],
        },
    )


if __name__ == "__main__":
    raise SystemExit(main("cometh_small", build_bundle))

"""Builds the benchmark as a bundle: `python -m examples.both_grow_small.bundle DEST`."""

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from examples.writing import benchmark, copy_parts, main, write_yaml

HERE = Path(__file__).resolve().parent
IMAGE = "podium/runtime:1"
ROWS, TRAIN_SHARE = 300, 0.5
Shape = Callable[[Any, Any], Any]


def _blobs(rng: Any, labels: Any) -> Any:
    """Three clouds, one for each class."""
    centres = np.array([[0.0, 0.0], [2.5, 0.5], [1.0, 2.5]])
    return centres[labels] + rng.normal(scale=0.8, size=(len(labels), 2))


def _rings(rng: Any, labels: Any) -> Any:
    """A ring for each class, around one centre."""
    angle, radius = rng.uniform(0, 2 * np.pi, len(labels)), 1.0 + labels + rng.normal(scale=0.15, size=len(labels))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _stripes(rng: Any, labels: Any) -> Any:
    """Stripes of changing classes."""
    band = labels + 3 * rng.integers(0, 3, len(labels))
    return np.stack([band + rng.uniform(0.1, 0.9, len(labels)), rng.normal(size=len(labels))], axis=1)


def _wide(rng: Any, labels: Any) -> Any:
    """Thirty features, of which most tell a little."""
    centres = np.random.default_rng(1).normal(scale=0.35, size=(3, 30))
    return centres[labels] + rng.normal(size=(len(labels), 30))


SHAPES: Final[dict[str, Shape]] = {"blobs": _blobs, "rings": _rings, "stripes": _stripes, "wide": _wide}
OWN: Final = ("blobs", "rings")  # the organizers' datasets; the others are there to be submitted


def dataset(dest: Path, *, shape: str, seed: int = 11) -> Path:
    """Write a dataset as a participant would send it, into the folder `dest`."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, ROWS)
    rows, cut = SHAPES[shape](rng, labels), int(ROWS * TRAIN_SHARE)
    for name in ("input_data", "reference_data"):
        (dest / name).mkdir(parents=True)
    np.savetxt(dest / "input_data" / "train.csv", np.column_stack([rows, labels])[:cut], delimiter=",", fmt="%.5f")
    np.savetxt(dest / "input_data" / "test.csv", rows[cut:], delimiter=",", fmt="%.5f")
    np.savetxt(dest / "reference_data" / "labels.txt", labels[cut:], fmt="%d")
    return dest


def build_bundle(dest: Path, *, now: datetime) -> Path:
    """Write the bundle into `dest`, a folder that does not exist yet; its phase is open from `now` on."""
    copy_parts(HERE, dest, ("pages", "ingestion_program", "scoring_program", "check_program", "check_scoring_program"))
    shutil.copy(HERE / "scoring_program" / "score.py", dest / "check_scoring_program")
    for shape in OWN:
        dataset(dest / shape, shape=shape)
    return write_yaml(dest, competition(now))


def competition(now: datetime) -> dict[str, object]:
    """The content of `competition.yaml`; what Codabench has no key for stands under `podium`."""
    tasks = [
        {
            "name": shape,
            "ingestion_program": "ingestion_program",
            "scoring_program": "scoring_program",
            "input_data": f"{shape}/input_data",
            "reference_data": f"{shape}/reference_data",
        }
        for shape in OWN
    ]
    check = {"name": "Check", "ingestion_program": "check_program", "scoring_program": "check_scoring_program"}
    rank = {"title": "Average rank", "key": "rank", "index": 0, "sorting": "asc", "precision": 2}
    return benchmark(
        title="Both grow, in small",
        description="Send an algorithm or a dataset: each meets all of the other kind.",
        image=IMAGE,
        now=now,
        tasks=[*tasks, check],
        phase={
            "name": "Algorithms and data",
            "tasks": list(range(len(OWN))),
            "execution_time_limit": 120,
            "podium": {
                "accepts": ["code", "dataset"],
                "slug": "both",
                "scoring_time_limit": 60,
                "grows": {"check": len(OWN), "max_datasets": 30, "max_datasets_per_team": 3},
            },
        },
        board={
            "title": "Algorithms and data",
            "submission_rule": "Force_Last",
            "primary_index": 0,
            "podium": {"show_tasks": True},
            "columns": [
                rank | {"computation": "avg_rank", "computation_indexes": [1]},
                {"title": "Accuracy", "key": "accuracy", "index": 1, "sorting": "desc", "precision": 3},
            ],
        },
    )


if __name__ == "__main__":
    raise SystemExit(main("both_grow_small", build_bundle))

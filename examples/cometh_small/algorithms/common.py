"""Common parts of all algorithms: reading the dataset, and writing estimates beside the truth."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Estimate = Callable[[Any, Any], Any]


def read(folder: Path, name: str) -> Any:
    """A matrix of the dataset; ends with a sentence for the participant when it is not there."""
    path = folder / name
    if not path.is_file():
        sys.exit(
            f"the dataset has no {name}; pack mixtures.csv, profiles.csv and proportions.csv at the top level of the zip"
        )
    return np.loadtxt(path, delimiter=",", ndmin=2)


def run(estimate: Estimate) -> None:
    """Run an algorithm on `$submission_program`, write to `$output`."""
    submission, output = Path(sys.argv[1]), Path(sys.argv[2])
    mixtures, profiles = read(submission, "mixtures.csv"), read(submission, "profiles.csv")
    truth = read(submission, "proportions.csv")
    if truth.shape != (profiles.shape[1], mixtures.shape[1]) or len(profiles) != len(mixtures):
        sys.exit(
            "the shapes do not fit: mixtures are probes x samples, profiles probes x types, proportions types x samples"
        )
    proportions = np.clip(estimate(mixtures, profiles), 0, None)
    proportions /= np.maximum(proportions.sum(axis=0, keepdims=True), 1e-12)
    np.savetxt(output / "estimate.csv", proportions, delimiter=",")
    np.savetxt(output / "truth.csv", truth, delimiter=",")

"""Mean absolute error of an algorithm's proportions on a participant's dataset."""

import json
import sys
from pathlib import Path

import numpy as np


def main(predictions: Path, output: Path) -> None:
    """Compare what the algorithm wrote with what the dataset says is true."""
    truth = np.loadtxt(predictions / "truth.csv", delimiter=",", ndmin=2)
    estimate = np.loadtxt(predictions / "estimate.csv", delimiter=",", ndmin=2)
    scores = {"mae": float(np.abs(truth - estimate).mean()), "samples": truth.shape[1]}
    (output / "scores.json").write_text(json.dumps(scores))


if __name__ == "__main__":
    main(Path(sys.argv[2]), Path(sys.argv[3]))

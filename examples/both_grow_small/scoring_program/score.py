"""Share of rows whose class was predicted."""

import json
import sys
from pathlib import Path

import numpy as np


def main(labels: Path, predictions: Path, output: Path) -> None:
    """Compare the two files line by line."""
    truth = np.loadtxt(labels, dtype=int, ndmin=1)
    predicted = np.loadtxt(predictions, dtype=int, ndmin=1)
    (output / "scores.json").write_text(json.dumps({"accuracy": float((predicted == truth).mean())}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))

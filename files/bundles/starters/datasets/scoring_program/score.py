"""Writes the mean absolute error of the algorithm on the participant's data."""

import json
import sys
from pathlib import Path
from statistics import fmean


def main(predictions: Path, output: Path) -> None:
    """Read `pairs.txt`, write `scores.json`."""
    pairs = [line.split() for line in (predictions / "pairs.txt").read_text().splitlines()]
    error = fmean(abs(float(value) - float(guess)) for value, guess in pairs)
    (output / "scores.json").write_text(json.dumps({"error": error}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

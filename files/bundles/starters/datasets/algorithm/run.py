"""The algorithm under test: predicts the mean of the first half for every value of the second."""

import sys
from pathlib import Path
from statistics import fmean


def main(submission: Path, output: Path) -> None:
    """Read the participant's `data.txt`, a number a line; write the values beside their predictions."""
    values = [float(line) for line in (submission / "data.txt").read_text().split()]
    half = len(values) // 2
    guess = fmean(values[:half])
    (output / "pairs.txt").write_text("\n".join(f"{value} {guess}" for value in values[half:]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

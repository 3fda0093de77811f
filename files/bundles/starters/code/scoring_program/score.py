"""Compares predictions with labels, one value a line, and writes the share that is right."""

import json
import sys
from pathlib import Path


def main(given: Path, output: Path) -> None:
    """Read `ref/labels.txt` and `res/predictions.txt` below `given`; write `scores.json`."""
    labels = (given / "ref" / "labels.txt").read_text().split()
    predictions = (given / "res" / "predictions.txt").read_text().split()
    if len(predictions) != len(labels):
        sys.exit(f"predictions.txt has {len(predictions)} lines; {len(labels)} are expected")
    right = sum(label == prediction for label, prediction in zip(labels, predictions, strict=True))
    (output / "scores.json").write_text(json.dumps({"accuracy": right / len(labels)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

"""Accuracy and balanced accuracy of the predicted classes."""

import json
import sys
from pathlib import Path

import numpy as np


def main(given: Path, output: Path) -> None:
    """Compare `res/predictions.txt` with `ref/labels.txt`; also write a small page by class."""
    truth = np.loadtxt(given / "ref" / "labels.txt", dtype=int)
    predicted = np.loadtxt(given / "res" / "predictions.txt", dtype=int)
    right = predicted == truth
    recalls = {int(label): float(right[truth == label].mean()) for label in np.unique(truth)}
    scores = {"acc": float(right.mean()), "bacc": float(np.mean(list(recalls.values())))}
    (output / "scores.json").write_text(json.dumps(scores))
    rows = "".join(f"<tr><td>{label}</td><td>{recall:.3f}</td></tr>" for label, recall in recalls.items())
    page = f"<table><tr><th>class</th><th>share that is right</th></tr>{rows}</table>"
    (output / "detailed_results.html").write_text(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

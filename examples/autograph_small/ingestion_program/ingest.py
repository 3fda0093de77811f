"""Loads a graph and the participant's `model.py`, lets the model learn, and writes its predictions."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np


def load(folder: Path) -> SimpleNamespace:
    """The graph of this task."""
    packed = np.load(folder / "graph.npz")
    return SimpleNamespace(
        **{name: packed[name] for name in packed.files if name != "classes"}, classes=int(packed["classes"])
    )


def main(given: Path, output: Path, submission: Path) -> None:
    """Fit and predict; `predictions.txt` has one class a line, in the order of `test`."""
    sys.path.insert(0, str(submission))
    from model import Model  # type: ignore[import-not-found]  # it comes with the submission

    graph = load(given)
    model = Model()
    model.fit(graph)
    predicted = np.asarray(model.predict(graph)).astype(int)
    if predicted.shape != graph.test.shape:
        sys.exit(f"predict gave {predicted.shape} classes; {graph.test.shape} are expected")
    np.savetxt(output / "predictions.txt", predicted, fmt="%d")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))

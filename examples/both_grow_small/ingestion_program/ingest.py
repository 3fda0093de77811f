"""Loads a table and the participant's `model.py`, lets the model learn, and writes its predictions."""

import sys
from pathlib import Path

import numpy as np


def main(given: Path, output: Path, submission: Path) -> None:
    """Fit on `train.csv`, whose last column is the class, and predict `test.csv`: one class a line."""
    sys.path.insert(0, str(submission))
    from model import Model  # type: ignore[import-not-found]  # it comes with the submission

    train = np.loadtxt(given / "train.csv", delimiter=",", ndmin=2)
    test = np.loadtxt(given / "test.csv", delimiter=",", ndmin=2)
    model = Model()
    model.fit(train[:, :-1], train[:, -1].astype(int))
    predicted = np.asarray(model.predict(test)).astype(int)
    if predicted.shape != (len(test),):
        sys.exit(f"predict gave {predicted.shape} classes for {len(test)} rows")
    np.savetxt(output / "predictions.txt", predicted, fmt="%d")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))

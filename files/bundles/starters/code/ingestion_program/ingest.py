"""Loads the participant's `model.py`, lets it learn, and writes its predictions."""

import sys
from pathlib import Path


def main(given: Path, output: Path, submission: Path) -> None:
    """Call `fit` with rows and labels of `train.txt`, and `predict` with the rows of `test.txt`."""
    sys.path.insert(0, str(submission))
    from model import Model  # type: ignore[import-not-found]  # it comes with the submission

    train = [line.split() for line in (given / "train.txt").read_text().splitlines()]
    test = [[float(value) for value in line.split()] for line in (given / "test.txt").read_text().splitlines()]
    model = Model()
    model.fit([[float(value) for value in row[:-1]] for row in train], [row[-1] for row in train])
    (output / "predictions.txt").write_text("\n".join(map(str, model.predict(test))) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))

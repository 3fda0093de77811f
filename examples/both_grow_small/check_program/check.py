"""Checks that algorithms can be compared on a submitted dataset; else tells its team why not.

It runs on the organizers' side: it reads the labels, too, and no participant's code is near.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

MAX_ROWS, MAX_FEATURES, MAX_CLASSES = 5000, 100, 50
BETTER_BY = 0.05  # than always the most frequent class: else there is nothing to learn


def table(path: Path, *, columns: int | None = None) -> Any:
    """A table of finite numbers, with so many columns where that is known."""
    if not path.is_file():
        sys.exit(f"the dataset has no {path.parent.name}/{path.name}")
    try:
        values = np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError as error:
        sys.exit(f"{path.parent.name}/{path.name} is not a table of numbers with commas between them: {error}")
    if columns is not None and values.shape[1] != columns:
        sys.exit(f"{path.parent.name}/{path.name} has {values.shape[1]} columns; {columns} are expected")
    if not np.isfinite(values).all() or not 10 <= len(values) <= MAX_ROWS:
        sys.exit(
            f"{path.parent.name}/{path.name} must hold finite numbers, in 10 to {MAX_ROWS} rows; it has {len(values)}"
        )
    return values


def classes(column: Any, name: str) -> Any:
    if (column != column.astype(int)).any() or (column < 0).any() or (column >= MAX_CLASSES).any():
        sys.exit(f"the classes in {name} must be whole numbers from 0 to {MAX_CLASSES - 1}")
    return column.astype(int)


def centroids(rows: Any, labels: Any, test: Any) -> Any:
    """The baseline: the class whose mean is nearest."""
    known = np.unique(labels)
    means = np.stack([rows[labels == label].mean(axis=0) for label in known])
    return known[((test[:, None] - means[None]) ** 2).sum(axis=2).argmin(axis=1)]


def neighbours(rows: Any, labels: Any, test: Any) -> Any:
    """The other baseline: the class of the nearest row."""
    return np.array([labels[((rows - row) ** 2).sum(axis=1).argmin()] for row in test])


def main(given: Path, output: Path) -> None:
    """Check files and shapes, run the baselines, and leave the better predictions for scoring."""
    train = table(given / "input_data" / "train.csv")
    if not 2 <= train.shape[1] <= MAX_FEATURES + 1:
        sys.exit(f"train.csv has {train.shape[1]} columns; 1 to {MAX_FEATURES} features and the class are expected")
    test = table(given / "input_data" / "test.csv", columns=train.shape[1] - 1)
    truth = classes(table(given / "reference_data" / "labels.txt", columns=1)[:, 0], "labels.txt")
    labels = classes(train[:, -1], "train.csv")
    if len(truth) != len(test) or not set(truth) <= set(labels):
        sys.exit("labels.txt must have one class for each row of test.csv, and only such as are in train.csv")
    guesses = [baseline(train[:, :-1], labels, test) for baseline in (centroids, neighbours)]
    best = max(guesses, key=lambda guess: float((guess == truth).mean()))
    usual = float((truth == np.bincount(labels).argmax()).mean())
    if (best == truth).mean() < usual + BETTER_BY:
        sys.exit(
            f"no baseline is right more often than always saying the most frequent class ({usual:.2f}): is there anything to learn?"
        )
    np.savetxt(output / "predictions.txt", best, fmt="%d")
    np.savetxt(output / "labels.txt", truth, fmt="%d")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

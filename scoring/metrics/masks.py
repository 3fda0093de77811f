"""Metrics of masks as run-length codes.

They are ``start length`` pairs, starts from 1, in one fixed order of the pixels.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringInputError
from scoring.metrics.metric import SKLEARN, Floats, Prediction, Rows, Subject, Target

_MAX_PIXEL: Final = 1 << 40
Runs = tuple[NDArray[np.int64], NDArray[np.int64]]
MASKS: Final = Subject(
    group="segmentation",
    direction="max",
    target=Target("text"),
    prediction=Prediction("text"),
    perfect=1.0,
    words="rle mask",
)


def _runs(code: str, where: str) -> Runs:
    """Starts and ends (exclusive), in order. An empty cell or ``-1`` is an empty mask."""
    words, right = code.split(), "write pairs of start and length"
    if words in ([], ["-1"]):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    try:
        numbers = np.array(words, dtype=np.int64)
    except (ValueError, OverflowError) as error:
        what = "a run-length code holds something else than whole numbers"
        raise ScoringInputError("out_of_range", where, what, right) from error
    if len(numbers) % 2 or numbers.min() < 1 or numbers.max() > _MAX_PIXEL:
        raise ScoringInputError("out_of_range", where, "a run-length code is not a list of pairs from 1", right)
    order = np.argsort(numbers[::2], kind="stable")
    starts, ends = numbers[::2][order], (numbers[::2] + numbers[1::2])[order]
    if np.any(starts[1:] < ends[:-1]):
        raise ScoringInputError("out_of_range", where, "runs of a code overlap", "write each pixel once")
    return starts, ends


def _pixels(runs: Runs) -> int:
    return int((runs[1] - runs[0]).sum())


def _below(runs: Runs, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of pixels of the mask before each place."""
    starts, ends = runs
    before = np.concatenate([[0], np.cumsum(ends - starts)])
    begun = np.searchsorted(starts, places, "right")
    last = np.maximum(begun - 1, 0)
    return before[begun] - np.where(begun > 0, np.maximum(ends[last] - places, 0), 0)


def _overlap(first: Runs, second: Runs) -> int:
    if not len(first[0]) or not len(second[0]):
        return 0
    return int((_below(first, second[1]) - _below(first, second[0])).sum())


def _sizes(rows: Rows) -> NDArray[np.float64]:
    """Overlap, true pixels and predicted pixels of each row."""
    sizes = []
    for truth, prediction in zip(rows.truth, rows.prediction, strict=True):
        true, predicted = _runs(str(truth), "the solution"), _runs(str(prediction), "prediction")
        sizes.append((_overlap(true, predicted), _pixels(true), _pixels(predicted)))
    return np.array(sizes, dtype=np.float64).T


@MASKS.mean("dice", "Dice coefficient", SKLEARN + "f1_score of pixels")
def dice(rows: Rows) -> Floats:
    """Mean overlap of predicted and true masks, as run-length codes.

    1 where both masks are empty.

    >>> dice(Rows(np.array(["1 4"]), np.array(["3 4"]))).round(4).tolist()
    [0.5]
    """
    both, true, predicted = _sizes(rows)
    return np.where(true + predicted > 0, 2 * both / np.maximum(true + predicted, 1), 1.0)


@MASKS.mean("mask_iou", "Intersection over union", SKLEARN + "jaccard_score of pixels")
def iou(rows: Rows) -> Floats:
    """Mean intersection over union of masks, as run-length codes.

    1 where both masks are empty.

    >>> iou(Rows(np.array(["1 4"]), np.array(["3 4"]))).round(4).tolist()
    [0.3333]
    """
    both, true, predicted = _sizes(rows)
    union = true + predicted - both
    return np.where(union > 0, both / np.maximum(union, 1), 1.0)


@MASKS.whole("pooled_dice", "Dice coefficient of all pixels", SKLEARN + "f1_score of pixels")
def pooled_dice(rows: Rows) -> float:
    """All masks together: large ones count more.

    1 where all masks are empty.

    >>> round(pooled_dice(Rows(np.array(["1 4"]), np.array(["3 4"]))), 4)
    0.5
    """
    both, true, predicted = _sizes(rows)
    whole = rows.mean(true + predicted)
    return 2 * rows.mean(both) / whole if whole else 1.0

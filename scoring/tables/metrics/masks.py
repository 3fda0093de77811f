"""Metrics of masks as run-length codes: ``start length`` pairs, starts from 1, in one fixed order of the pixels."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringInputError
from scoring.tables.metrics.base import Floats, Prediction, Rows, TableMetric, Target

_MASK, _PREDICTED = Target("text"), Prediction("text")
_MAX_PIXEL: Final = 1 << 40
Runs = tuple[NDArray[np.int64], NDArray[np.int64]]


def _runs(code: str, where: str) -> Runs:
    """Starts and ends (exclusive), in order. An empty cell or ``-1`` is an empty mask."""
    words = code.split()
    if words in ([], ["-1"]):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    try:
        numbers = np.array(words, dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise ScoringInputError(
            "out_of_range",
            where,
            "a run-length code holds something else than whole numbers",
            "write pairs of start and length",
        ) from error
    if len(numbers) % 2 or numbers.min() < 1 or numbers.max() > _MAX_PIXEL:
        raise ScoringInputError(
            "out_of_range", where, "a run-length code is no list of pairs from 1", "write pairs of start and length"
        )
    order = np.argsort(numbers[::2], kind="stable")
    starts, ends = numbers[::2][order], (numbers[::2] + numbers[1::2])[order]
    if np.any(starts[1:] < ends[:-1]):
        raise ScoringInputError("out_of_range", where, "runs of a code overlap", "write each pixel once")
    return starts, ends


def _pixels(runs: Runs) -> int:
    return int((runs[1] - runs[0]).sum())


def _below(runs: Runs, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many pixels of the mask lie before each place."""
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


def dice(rows: Rows) -> Floats:
    """Each row's Dice coefficient; 1 where both masks are empty.

    >>> dice(Rows(np.array(["1 4"]), np.array(["3 4"]))).round(4).tolist()
    [0.5]
    """
    both, true, predicted = _sizes(rows)
    return np.where(true + predicted > 0, 2 * both / np.maximum(true + predicted, 1), 1.0)


def iou(rows: Rows) -> Floats:
    """Each row's intersection over union; 1 where both masks are empty.

    >>> iou(Rows(np.array(["1 4"]), np.array(["3 4"]))).round(4).tolist()
    [0.3333]
    """
    both, true, predicted = _sizes(rows)
    union = true + predicted - both
    return np.where(union > 0, both / np.maximum(union, 1), 1.0)


def pooled_dice(rows: Rows) -> float:
    """Dice coefficient of all pixels of all rows together; 1 where all masks are empty.

    >>> round(pooled_dice(Rows(np.array(["1 4"]), np.array(["3 4"]))), 4)
    0.5
    """
    both, true, predicted = _sizes(rows)
    whole = rows.mean(true + predicted)
    return 2 * rows.mean(both) / whole if whole else 1.0


def _mask_metric(name: str, title: str, text: str, source: str, **more: Any) -> TableMetric:
    return TableMetric(
        name,
        title,
        "segmentation",
        text,
        "max",
        (0.0, 1.0),
        _MASK,
        _PREDICTED,
        source,
        perfect=1.0,
        words="rle mask",
        **more,
    )


METRICS: Final = (
    _mask_metric(
        "dice", "Dice coefficient", "Mean overlap of predicted and true masks, as run-length codes.",
        "scikit-learn: sklearn.metrics.f1_score of pixels", per_row=dice,
    ),
    _mask_metric(
        "mask_iou", "Intersection over union", "Mean intersection over union of masks, as run-length codes.",
        "scikit-learn: sklearn.metrics.jaccard_score of pixels", per_row=iou,
    ),
    _mask_metric(
        "pooled_dice", "Dice coefficient of all pixels", "All masks together: large ones count more.",
        "scikit-learn: sklearn.metrics.f1_score of pixels", function=pooled_dice,
    ),
)  # fmt: skip
"""The metrics of masks."""

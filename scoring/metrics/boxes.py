"""Average precision of detected boxes, as COCO defines it.

A row is an image. The truth's cell lists ``class x y width height`` of its boxes, a prediction's ``class confidence x y
width height``, all separated by spaces; an empty cell has none.
"""

from collections import defaultdict
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringInputError
from scoring.metrics.metric import Floats, Prediction, Rows, Subject, Target, no_value

_MOST: Final = 100  # detections of a class in an image
_RECALLS: Final = np.linspace(0.0, 1.0, 101)
_THRESHOLDS: Final = np.linspace(0.5, 0.95, 10)
_COCO: Final = "pycocotools.cocoeval (area: all, 100 detections)"
_CERTAIN: Final = 1 - 1e-10
Detections = tuple[Floats, NDArray[np.bool_]]
BOXES: Final = Subject(
    group="detection",
    direction="max",
    target=Target("text"),
    prediction=Prediction("text"),
    perfect=1.0,
    weighted=False,
)


def _boxes(cell: str, numbers: int, where: str) -> dict[str, Floats]:
    """The numbers of each class's boxes."""
    words, right = cell.split(), f"write a class and {numbers} numbers for each"
    if len(words) % (numbers + 1):
        raise ScoringInputError("out_of_range", where, "a cell is not a list of boxes", right)
    boxes = defaultdict(list)
    try:
        for start in range(0, len(words), numbers + 1):
            boxes[words[start]].append([float(word) for word in words[start + 1 : start + numbers + 1]])
    except ValueError as error:
        raise ScoringInputError("out_of_range", where, "a box holds something else than numbers", right) from error
    arrays = {name: np.array(values) for name, values in boxes.items()}
    if any(not np.isfinite(values).all() or values[:, -2:].min() < 0 for values in arrays.values()):
        raise ScoringInputError("out_of_range", where, "a box has no finite size", "write finite numbers, sizes from 0")
    return arrays


def _ious(first: Floats, second: Floats) -> Floats:
    low = np.maximum(first[:, np.newaxis, :2], second[np.newaxis, :, :2])
    high = np.minimum((first[:, :2] + first[:, 2:])[:, np.newaxis], (second[:, :2] + second[:, 2:])[np.newaxis])
    both = np.prod(np.clip(high - low, 0, None), axis=2)
    union = np.prod(first[:, 2:], axis=1)[:, np.newaxis] + np.prod(second[:, 2:], axis=1)[np.newaxis] - both
    return np.where(union > 0, both / np.where(union > 0, union, 1.0), 0.0)


def _match_boxes(detected: Floats, true: Floats, threshold: float) -> NDArray[np.bool_]:
    """True for each detection, the most confident first, that meets a box not taken before."""
    overlaps = _ious(detected, true)
    right = np.zeros(len(detected), dtype=np.bool_)
    for place, row in enumerate(overlaps):
        best = len(row) - 1 - int(np.argmax(row[::-1]))  # of equal ones the last, as COCO's code takes
        if row[best] >= min(threshold, _CERTAIN):
            right[place] = True
            overlaps[:, best] = -1.0
    return right


def _detections(images: list[tuple[Floats, Floats]], threshold: float) -> Detections:
    """Confidence of each detection of a class over all images, and whether it is right."""
    confidences, rights = [], []
    for true, detected in images:
        ordered = detected[np.argsort(-detected[:, 0], kind="mergesort")][:_MOST]
        confidences.append(ordered[:, 0])
        rights.append(
            _match_boxes(ordered[:, 1:], true, threshold) if len(true) else np.zeros(len(ordered), dtype=np.bool_)
        )
    return np.concatenate(confidences), np.concatenate(rights)


def _average_precision(images: list[tuple[Floats, Floats]], threshold: float) -> float:
    """Mean over 101 recalls of the highest precision that is reached there or beyond."""
    confidence, right = _detections(images, threshold)
    right = right[np.argsort(-confidence, kind="mergesort")]
    hits = np.cumsum(right)
    recall = hits / sum(len(true) for true, _ in images)
    precision = hits / (np.arange(len(hits)) + 1 + np.spacing(1))
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(recall, _RECALLS, side="left")
    return float(
        np.where(places < len(envelope), np.append(envelope, 0.0)[np.minimum(places, len(envelope))], 0.0).mean()
    )


def _by_class(rows: Rows) -> dict[str, list[tuple[Floats, Floats]]]:
    """True and detected boxes of each class that occurs in the truth, an entry for each image with either."""
    images: dict[str, list[tuple[Floats, Floats]]] = defaultdict(list)
    there = set()
    for truth, prediction in zip(rows.truth, rows.prediction, strict=True):
        true, detected = _boxes(str(truth), 4, "the solution"), _boxes(str(prediction), 5, "prediction")
        there |= set(true)
        for name in true.keys() | detected.keys():
            images[name].append((true.get(name, np.empty((0, 4))), detected.get(name, np.empty((0, 5)))))
    if not there:
        raise no_value("there is no box", "give each part boxes")
    return {name: images[name] for name in sorted(there)}


def _mean_precision(rows: Rows, thresholds: Any) -> float:
    classes = _by_class(rows).values()
    return float(np.mean([[_average_precision(images, threshold) for threshold in thresholds] for images in classes]))


@BOXES.whole("coco_map", "Mean average precision of boxes", _COCO, words="map coco detection iou")
def coco_map(rows: Rows) -> float:
    """Mean over classes and overlaps from 0.5 to 0.95.

    >>> round(coco_map(Rows(np.array(["cat 0 0 10 10"]), np.array(["cat 0.9 0 0 10 8"]))), 4)
    0.7
    """
    return _mean_precision(rows, _THRESHOLDS)


@BOXES.whole("coco_ap50", "Average precision of boxes at overlap 0.5", _COCO, words="map@50 ap50 voc")
def coco_ap50(rows: Rows) -> float:
    """Mean over the classes.

    >>> round(coco_ap50(Rows(np.array(["cat 0 0 10 10"]), np.array(["cat 0.9 0 0 10 8"]))), 4)
    1.0
    """
    return _mean_precision(rows, _THRESHOLDS[:1])

"""Reads what scoring programs wrote of their resamples; for a process of its own, without Django.

The files are organizers': what is wrong with one is said in words, and the score counts all the same.
"""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict

import numpy as np

from scoring.errors import ScoringInputError
from scoring.replicates import RESAMPLES, Replicates, read, read_losses

SECONDS: Final = 30.0  # for all losses of one file
FAR: Final = 5.0  # standard deviations: replicates whose middle lies so far from the score are of something else


class WrittenFile(TypedDict):
    """A file of resamples or of losses, and the run's scores by key."""

    path: str
    is_losses: bool
    scores: Mapping[str, float]


class Values(TypedDict):
    """The replicates of a score: 32-bit floats as base64, and the rest as of `Replicates`."""

    base64: str
    stream: str
    share_items: int
    items: int


class ReadFile(TypedDict):
    """The replicates of a file by key, and its fault in words, empty where it has none."""

    values: dict[str, Values]
    fault: str


def read_files(files: Sequence[WrittenFile]) -> list[ReadFile]:
    """Read the replicates in each file."""
    return [_read(file) for file in files]


def _read(file: WrittenFile) -> ReadFile:
    scores = file["scores"]
    values: dict[str, Values] = {}
    try:
        for key, replicates in _found(file).items():
            if key in scores:
                _require_of_score(key, replicates, scores[key])
                text = base64.b64encode(replicates.values[:RESAMPLES].astype("<f4").tobytes()).decode()
                values[key] = {
                    "base64": text,
                    "stream": _one_line(replicates.stream),
                    "share_items": replicates.share_items,
                    "items": replicates.items,
                }
    except ScoringInputError as error:
        return {"values": values, "fault": _one_line(str(error))[:280]}
    return {"values": values, "fault": ""}


def _one_line(text: str) -> str:
    """The text without line breaks and control characters, which names in such files may have."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _found(file: WrittenFile) -> dict[str, Replicates]:
    path = Path(file["path"])
    if not file["is_losses"]:
        return read(path)
    by_key = {}
    for key, (mean, replicates) in read_losses(path, seconds=SECONDS).items():
        score, spread = file["scores"].get(key, mean), float(np.nanstd(replicates.values))
        if abs(mean - score) > spread / 10 + 1e-6 * abs(score):
            what = f"the losses have the mean {mean:.6g}, and the score is {score:.6g}"
            raise ScoringInputError(
                "out_of_range", key, what, "write the loss of each item that the score is the mean of"
            )
        by_key[key] = replicates
    return by_key


def _require_of_score(key: str, replicates: Replicates, score: float) -> None:
    known = replicates.values[np.isfinite(replicates.values)].astype(np.float64)
    if known.size * 2 <= replicates.values.size:
        what = "most replicates are no numbers"
        raise ScoringInputError("nan", key, what, "write a score for each resample")
    middle, spread = float(np.median(known)), float(known.std())
    if abs(middle - score) > FAR * spread + 1e-6 * abs(score):
        what = f"the replicates lie about {middle:.6g}, and the score is {score:.6g}"
        raise ScoringInputError("out_of_range", key, what, "write replicates of this score")

"""The small JSON files that a stage may leave: scores, a refusal, progress. Bounded, checked value by value."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.sandbox.collect import read_bounded
from workers.sandbox.errors import OutputRefused

MAX_SCORES_BYTES = 1 << 20
MAX_REFUSAL_BYTES = 64 << 10
MAX_PROGRESS_BYTES = 4 << 10
MAX_MESSAGE_CHARACTERS = 2000
REFUSAL_EXIT_CODE = 65  # EX_DATAERR of sysexits.h
CODE = re.compile(r"\A[a-z][a-z0-9_]{0,63}\Z")


class ScoresInvalid(Exception):
    """The scorer did not do its part: no scores, or a column without a finite number. `code` is a stable word."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class Refusal:
    """Why the scorer refused a participant's file: a stable `code` and a message for the participant."""

    code: str
    message: str


def read_scores(output: Path, columns: Sequence[str]) -> dict[str, float]:
    """The declared columns of `scores.json`; keys that are no column are ignored.

    Raises
    ------
    ScoresInvalid
        `no_scores`, `scores_unreadable`, `column_missing`, `score_not_finite`.
    """
    content = _read(output, "scores.json", MAX_SCORES_BYTES)
    if content is None:
        raise ScoresInvalid("no_scores", "The scoring program wrote no scores.json into /app/output.")
    said = _parse(content)
    if not isinstance(said, dict):
        raise ScoresInvalid("scores_unreadable", "scores.json must hold one JSON object with a number for each column.")
    return {column: _finite(said, column) for column in columns}


def _read(output: Path, name: str, max_bytes: int) -> bytes | None:
    try:
        return read_bounded(output, name, max_bytes)
    except OutputRefused as error:
        raise ScoresInvalid("scores_unreadable", error.detail) from error


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:  # nested 100,000 deep is a RecursionError
        raise ScoresInvalid("scores_unreadable", f"scores.json cannot be read as JSON: {str(error)[:200]}.") from error


def _finite(said: dict[str, Any], column: str) -> float:
    if column not in said:
        raise ScoresInvalid("column_missing", f"scores.json has no value for the column {column!r}.")
    value = said[column]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScoresInvalid(
            "score_not_finite", f"scores.json: {column!r} must be a number, not {type(value).__name__}."
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ScoresInvalid("score_not_finite", f"scores.json: {column!r} is not a finite number.")
    return number


def read_refusal(output: Path) -> Refusal | None:
    """The scorer's `refusal.json`; None when there is none that can be used."""
    try:
        said = json.loads(read_bounded(output, "refusal.json", MAX_REFUSAL_BYTES) or b"null")
    except (OutputRefused, ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("message"), str):
        return None
    code = str(said.get("code"))
    return Refusal(code if CODE.match(code) else "refused", plain_text(said["message"])[:MAX_MESSAGE_CHARACTERS])


def read_progress(output: Path) -> float | None:
    """The fraction of the work done, 0 to 1, from `progress.json` (`{"fraction": 0.4}`). Shown, never trusted."""
    try:
        said = json.loads(read_bounded(output, "progress.json", MAX_PROGRESS_BYTES) or b"null")
    except (OutputRefused, OSError, ValueError, RecursionError):
        return None
    fraction = said.get("fraction") if isinstance(said, dict) else None
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        return None
    return float(fraction)


def plain_text(text: str) -> str:
    """Text without control and direction characters, so that it cannot garble a page or a terminal."""
    return "".join(character if _shows(character) else "\N{REPLACEMENT CHARACTER}" for character in text)


def _shows(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")

"""The small JSON files of a stage: scores, a refusal, progress. Bounded, checked value by value."""

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from workers.errors import DataRefused, OutputRefused, SandboxError, reading
from workers.protocol.files.plain_yaml import read_plain_yaml
from workers.sandbox.collect import read_bounded

MAX_SCORES_BYTES = 1 << 20
MAX_REFUSAL_BYTES = 64 << 10
MAX_PROGRESS_BYTES = 4 << 10
MAX_MESSAGE_CHARACTERS = 2000
REFUSAL_EXIT_CODE = 65  # EX_DATAERR of sysexits.h
LINE = re.compile(r"\A([^:]{1,200}):\s*(\S+)\Z")
NUMBER = re.compile(r"(?i)\A[-+]?(\d+(\.\d*)?(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?|\.?nan|\.?inf(inity)?)\Z")
CODE = re.compile(r"\A[a-z][a-z0-9_]{0,63}\Z")


class ScoresInvalid(DataRefused):
    """The scorer left no scores, or a column without a finite number. `code` is a stable word."""


@dataclass(frozen=True)
class Refusal:
    """An organizers' program's refusal of what a participant sent in: a stable `code` and a message."""

    code: str
    message: str


@dataclass(frozen=True)
class ScoresRead:
    """Values of the board's columns, and remarks for the organizer about what was left out."""

    values: dict[str, float]
    notes: list[str]


def _unreadable(words: str, name: str = "The scores") -> ScoresInvalid:
    return ScoresInvalid("scores_unreadable", f"{name} cannot be read: {words}.")


@reading(_unreadable)
def read_scores(output: Path, columns: Sequence[str]) -> ScoresRead:
    """The board's columns out of `scores.json`, else out of `scores.txt`, which is YAML.

    True and false count as 1 and 0, and numbers may be written as text (YAML reads `1e-3` so). Keys that are no column
    are left out with a remark, whatever they hold; a column may be missing as long as one is there. Raises
    `ScoresInvalid` (`no_scores`, `scores_unreadable`, `column_missing` where none of them is there,
    `score_not_finite`).
    """
    name, scores = _scores_file(output)
    values = {column: _finite(name, column, scores[column]) for column in columns if column in scores}
    missing = [column for column in columns if column not in scores]
    unknown = [str(key)[:60] for key in scores if key not in values][:20]
    if columns and not values:
        contents = f"it has {', '.join(map(repr, unknown))}" if unknown else "it is empty"
        expected = ", ".join(map(repr, missing))
        raise ScoresInvalid(
            "column_missing", f"{name} has a value for none of the board's columns {expected}; {contents}."
        )
    notes = [f"{name}: {key!r} is not a column of the board and was left out." for key in unknown]
    notes += [f"{name} has no value for the column {column!r}." for column in missing]
    return ScoresRead(values, notes)


def _scores_file(output: Path) -> tuple[str, dict[str, object]]:
    for name, parse in (("scores.json", _parse_json), ("scores.txt", _parse_text)):
        content = _read(output, name, MAX_SCORES_BYTES)
        if content is None:
            continue
        scores = parse(content)
        if not isinstance(scores, dict):
            raise ScoresInvalid("scores_unreadable", f"{name} must hold one mapping with a number for each column.")
        return name, {str(key): value for key, value in scores.items()}
    raise ScoresInvalid("no_scores", "The scoring program wrote no scores.json and no scores.txt into /app/output.")


def _read(output: Path, name: str, max_bytes: int) -> bytes | None:
    try:
        return read_bounded(output, name, max_bytes)
    except OutputRefused as error:
        raise ScoresInvalid("scores_unreadable", error.detail) from error


def _parse_json(content: bytes) -> Any:
    with reading(partial(_unreadable, name="scores.json")):
        return json.loads(content)


def _parse_text(content: bytes) -> Any:
    """YAML; and lines such as `key:1`, which YAML takes for one long text."""
    text = content.decode("utf-8-sig", errors="replace")
    with reading(partial(_unreadable, name="scores.txt")):
        try:
            document = read_plain_yaml(text, max_characters=MAX_SCORES_BYTES)
        except Exception:
            document = _lines(text)
            if document is None:
                raise
    return _lines(text) if isinstance(document, str) else document


def _lines(text: str) -> dict[str, object] | None:
    """`key:value` line by line; None where a line is none of those."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pairs = [LINE.match(line) for line in lines]
    return {pair[1].strip(): pair[2] for pair in pairs if pair} if lines and all(pairs) else None


def _finite(name: str, column: str, value: Any) -> float:
    try:
        if isinstance(value, str) and not NUMBER.match(value.strip()):
            raise ValueError(value)
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        kind = (
            f"the text {value[:40]!r}"
            if isinstance(value, str)
            else "empty"
            if value is None
            else f"a {type(value).__name__}"
        )
        raise ScoresInvalid("score_not_finite", f"{name}: {column!r} must be a number; it is {kind}.") from None
    if not math.isfinite(number):
        raise ScoresInvalid("score_not_finite", f"{name}: {column!r} is not a finite number ({number}).")
    return number


def read_refusal(output: Path) -> Refusal | None:
    """A program's `refusal.json`; None when there is none that can be used."""
    refusal = _small_json(output, "refusal.json", MAX_REFUSAL_BYTES)
    if not isinstance(refusal, dict) or not isinstance(refusal.get("message"), str):
        return None
    code = str(refusal.get("code"))[:MAX_MESSAGE_CHARACTERS]
    return Refusal(code if CODE.match(code) else "refused", plain_text(refusal["message"])[:MAX_MESSAGE_CHARACTERS])


def read_progress(output: Path) -> float | None:
    """The fraction of the work done, 0 to 1, from `progress.json` (`{"fraction": 0.4}`).

    It is shown, never trusted.
    """
    try:
        progress = _small_json(output, "progress.json", MAX_PROGRESS_BYTES)
    except (SandboxError, OSError):
        return None
    fraction = progress.get("fraction") if isinstance(progress, dict) else None
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        return None
    return float(fraction)


def _small_json(output: Path, name: str, max_bytes: int) -> Any:
    """The content of a file of an output; None where nothing of it can be used."""
    try:
        with reading(partial(OutputRefused, "output_invalid", "unreadable_file")):
            return json.loads(read_bounded(output, name, max_bytes) or b"null")
    except OutputRefused:
        return None


def plain_text(text: str) -> str:
    """Text without control and direction characters, so that it cannot garble a page or a terminal."""
    return "".join(character if _shows(character) else "\N{REPLACEMENT CHARACTER}" for character in text)


def _shows(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")

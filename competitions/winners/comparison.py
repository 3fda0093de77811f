"""Comparing the predictions that a team's code made here with those that it submitted."""

import re
import tempfile
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy
from competitions.runs.models import Run, RunOutput
from competitions.submissions.states import Kind
from competitions.winners.models import Place
from scoring import ScoringInputError
from scoring.formats import submissions
from scoring.formats.layouts import official_filename
from scoring.tables.reading.file_types import is_table_name
from scoring.tables.schema import TableSchema

MAX_TEXT_BYTES: Final = 64 * 1024 * 1024
# They are compared in Python, and other work waits meanwhile.
MAX_LINES: Final = 1_000_000
MAX_WORDS: Final = 5_000_000
MAX_PAIRS: Final = 400  # of a plot
# Damaged, or encrypted.
UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError)

_WORD: Final = re.compile(rb"[^\s,;]+")
_GAPS: Final = (b" ", b"\t", b",", b";", b"\n", b"\r", b"\v", b"\f")
_NUMBER: Final = rb"[-+]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][-+]?\d{1,2})?"
_WHOLE: Final = rb"[-+]?\d+ [-+]?\d+"
_REAL: Final = re.compile(rb"(?!" + _WHOLE + rb"\Z)" + _NUMBER + rb" " + _NUMBER)

Arrays = dict[str, NDArray[Any]]


class CannotCompare(Exception):
    """Two sets of predictions cannot be compared; the message says why."""


@dataclass(frozen=True)
class Difference:
    """Distance between two sets of predictions.

    `mae` and `largest` are of the real numbers, None without any; `has_words` where classes, ranks or texts that differ
    can be told by the share of equal rows alone.
    """

    rows: int
    equal_share: float
    mae: float | None
    largest: float | None
    has_words: bool = False
    notes: list[str] = field(default_factory=list)


def compare(ours: Arrays, theirs: Arrays) -> Difference:
    """Both hold the same arrays, of the same shapes, first axis the rows.

    Raises `CannotCompare` where they do not.

    >>> compare({"y": np.array([1.0, 2.0])}, {"y": np.array([1.0, 2.5])})
    Difference(rows=2, equal_share=0.5, mae=0.25, largest=0.5, has_words=False, notes=[])
    """
    if set(ours) != set(theirs):
        raise CannotCompare(f"The run made {sorted(ours)}, submitted were {sorted(theirs)}.")
    shares, means, largest, rows, has_words = [], [], [], 0, False
    for name, output in ours.items():
        sent = theirs[name]
        if output.shape != sent.shape:
            raise CannotCompare(f"{name!r} has the shape {output.shape}, submitted was {sent.shape}.")
        rows = max(rows, len(output))
        equal = output == sent
        shares.append(float(np.mean(equal.reshape(len(output), -1).all(axis=1))) if len(output) else 1.0)
        apart = _apart_in_text(output, sent) if output.dtype == object else _apart(output, sent)
        has_words |= apart is None
        if apart is not None and apart.size:
            means.append(float(apart.mean()))
            largest.append(float(apart.max()))
    return Difference(rows, min(shares, default=1.0), max(means, default=None), max(largest, default=None), has_words)


def _apart(output: NDArray[Any], sent: NDArray[Any]) -> NDArray[np.float64] | None:
    """Absolute differences of real numbers; None for classes and rankings, of which a mean says nothing."""
    if not np.issubdtype(output.dtype, np.floating):
        return None
    return np.abs(output.astype(np.float64) - sent.astype(np.float64))


def _apart_in_text(output: NDArray[Any], sent: NDArray[Any]) -> NDArray[np.float64] | None:
    """Absolute differences of the real numbers in lines of text; None where anything else differs.

    Words stand between blanks, commas, semicolons and tabs. Two whole numbers are words: they may be classes or rows.

    >>> lines = [np.array([line], dtype=object) for line in (b"mol7, 0.25", b"mol7,0.5", b"mol8,0.25")]
    >>> _apart_in_text(lines[0], lines[1]), _apart_in_text(lines[0], lines[2])
    (array([0.25]), None)
    """
    differences = array("d")
    for ours, theirs in zip(output, sent, strict=True):
        words = ((match[0] for match in _WORD.finditer(line)) for line in (ours, theirs))
        for word, other in zip_longest(*words, fillvalue=b""):
            if _REAL.fullmatch(word + b" " + other):
                differences.append(abs(float(word) - float(other)))
            elif word != other:
                return None
    return np.frombuffer(differences, dtype=np.float64)


def agreement(ours: Arrays, theirs: Arrays, *, within: float) -> float:
    """Share of rows in which both hold the same; real numbers may be `within` of each other.

    Raises `CannotCompare` as `compare`.

    >>> agreement({"y": np.array([1.0, 2.0])}, {"y": np.array([1.25, 3.0])}, within=0.5)
    0.5
    """
    compare(ours, theirs)  # the same arrays, of the same shapes
    shares = []
    for name, output in ours.items():
        apart = _apart(output, theirs[name])
        same = output == theirs[name] if apart is None else apart <= within
        shares.append(float(np.mean(same.reshape(len(output), -1).all(axis=1))) if len(output) else 1.0)
    return min(shares, default=1.0)


def sampled_pairs(predictions: Arrays, expected: Arrays) -> list[list[float]]:
    """Expected and actual predictions of evenly spread rows, for a plot; none without real numbers.

    >>> sampled_pairs({"y": np.array([1.0, 2.5])}, {"y": np.array([1.0, 2.0])})
    [[1.0, 1.0], [2.0, 2.5]]
    """
    name = next((name for name, array in predictions.items() if np.issubdtype(array.dtype, np.floating)), None)
    if name is None:
        return []
    xs, ys = (np.asarray(arrays[name], dtype=np.float64).ravel() for arrays in (expected, predictions))
    both = np.stack([xs, ys], axis=1)[:: max(1, -(-len(xs) // MAX_PAIRS))]
    return [[float(x), float(y)] for x, y in both if np.isfinite(x) and np.isfinite(y)]


def predictions_file(run: Run | None) -> RunOutput | None:
    """The zip of the predictions that the newest attempt of a run left."""
    outputs = RunOutput.objects.filter(run=run, name="predictions.zip").select_related("file")
    return outputs.order_by("-attempt").first()


def submitted(place: Place, task_id: int | None) -> Arrays:
    """The predictions of the submission that won: those sent in, or made by its run on the task.

    Raises `CannotCompare`.
    """
    sent = place.submission
    if sent.kind == Kind.CODE:
        return made_by(sent.runs.filter(task=task_id).first(), place)
    return read_predictions(sent.file, sent.file_name, place.lane.leaderboard.phase.prediction_format)


def made_by(run: Run | None, place: Place) -> Arrays:
    """The predictions that a run left. Raises `CannotCompare`."""
    output = predictions_file(run)
    if output is None:
        raise CannotCompare("The run left no predictions.")
    return read_predictions(output.file, "predictions.zip", place.lane.leaderboard.phase.prediction_format)


def read_predictions(stored: StoredFile, file_name: str, prediction_format: Mapping[str, object] | None) -> Arrays:
    """The predictions in a submitted file, or in the output of a run (a zip that holds such a file).

    Without an official format, text files are read line by line. Raises `CannotCompare`.
    """
    with local_copy(stored) as path:
        if prediction_format is None:
            return _lines(path)
        try:
            if "table" in prediction_format:
                return _table(path, file_name, TableSchema.from_json(prediction_format["table"]))
            with _official_file(path, file_name, prediction_format) as (official_path, name):
                rows = prediction_format.get("rows")
                return submissions.read(
                    official_path,
                    str(prediction_format["dataset"]),
                    str(prediction_format["split"]),
                    rows=rows if isinstance(rows, int) else None,
                    filename=name,
                )
        except (ScoringInputError, *UNREADABLE) as error:
            raise CannotCompare(f"The predictions cannot be read: {error}") from error


@contextmanager
def _official_file(path: Path, file_name: str, prediction_format: Mapping[str, object]) -> Iterator[tuple[Path, str]]:
    """The official file itself, or the member of that name in a zip of a run's output."""
    official_name = official_filename(str(prediction_format["dataset"]), str(prediction_format["split"]))
    if file_name == official_name:
        yield path, official_name
        return
    with _member(path, lambda name: name == official_name, f"file called {official_name}") as target:
        yield target, official_name


@contextmanager
def _member(path: Path, is_wanted: Callable[[str], bool], what: str) -> Iterator[Path]:
    """The first file of a zip whose name is wanted, under that name."""
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(path) as archive:
        member = next((name for name in archive.namelist() if is_wanted(name.rsplit("/", 1)[-1])), None)
        if member is None:
            raise CannotCompare(f"The run left no {what}.")
        target = Path(scratch) / member.rsplit("/", 1)[-1]
        with archive.open(member) as source, target.open("wb") as copy:
            while chunk := source.read(1 << 20):
                copy.write(chunk)
        yield target


def _table(path: Path, file_name: str, schema: TableSchema) -> Arrays:
    """The prediction columns, rows in the order of the ids: the table itself, or the one in a zip."""
    if not is_table_name(file_name):
        with _member(path, is_table_name, "table") as target:
            return _table(target, target.name, schema)
    from scoring.tables.check import read_submission  # here, because loading its library takes longer than most pages

    table = read_submission(path, schema, filename=file_name).sort(schema.id_column)
    return {column.name: _comparable(table[column.name].to_list(), column.type) for column in schema.columns}


def _comparable(values: list[Any], kind: str) -> NDArray[Any]:
    return np.array([str(value).encode() for value in values], dtype=object) if kind == "text" else np.array(values)


def _lines(path: Path) -> Arrays:
    """Every text file of a zip as an array of its lines."""
    if not zipfile.is_zipfile(path):
        raise CannotCompare("What was submitted is not a zip, so there are no files to compare line by line.")
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        if sum(info.file_size for info in infos) > MAX_TEXT_BYTES:
            raise CannotCompare(f"The files are larger than {MAX_TEXT_BYTES:,} bytes together.")
        try:
            texts = {info.filename: archive.read(info) for info in infos}
        except UNREADABLE as error:
            raise CannotCompare(f"The zip cannot be read: {error}") from error
    if sum(text.count(b"\n") + text.count(b"\r") for text in texts.values()) > MAX_LINES:
        raise CannotCompare(f"The files have more than {MAX_LINES:,} lines together.")
    if sum(text.count(gap) for text in texts.values() for gap in _GAPS) > MAX_WORDS:
        raise CannotCompare(f"The files have more than {MAX_WORDS:,} words together.")
    return {name: np.array(text.splitlines() or [b""], dtype=object) for name, text in texts.items()}

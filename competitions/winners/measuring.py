"""Scores of predictions with their sampling error; for a process of its own, without Django.

Reference data and predictions are zips of organizers and teams: they are checked before they are unpacked, and what is said of
a fault is in fixed words, because labels are in play.
"""

import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypedDict, final

import numpy as np

from files.archives import DAMAGED, ArchiveLimits, check_zip
from files.refusals import InvalidFile
from scoring.errors import CODES, ScoringInputError, is_of_host
from scoring.row_scores import sampled_score
from scoring.statistics import SampledScore, difference_error
from scoring.uploads import Refused

ROWS_FILE: Final = "rows.csv"  # in a check's reference data: for each row its number in the plain input
LIMITS: Final = ArchiveLimits(unpacked_bytes=4 * 1024**3, files=1000)
ORGANIZERS: Final = ("not_decomposable", "unknown_name", "bad_reference")  # codes that no team's file can cause


class Side(TypedDict):
    """Paths of the zips of one run."""

    reference: str
    predictions: str


class RunPair(TypedDict):
    """Two runs.

    `same_rows`: they are of the same items, in the order of the check's `rows.csv` if it has one.
    """

    plain: Side
    check: Side
    same_rows: bool


@final
class Fault(TypedDict):
    """Something that cannot be computed.

    `is_organizers`: it lies in the labels or the metric, so that no predictions could be judged by them.
    """

    fault: str
    is_organizers: bool


@final
class Measured(TypedDict):
    """The scores of both sides, and the standard error of their difference.

    `rows` are the numbers of rows, the check's first.
    """

    plain: float
    check: float
    error: float
    rows: list[int]
    is_resampled: bool


def measure(key: str, pairs: Sequence[RunPair]) -> list[Measured | Fault]:
    """The score called `key` on both sides of each pair, and the standard error of their difference."""
    with tempfile.TemporaryDirectory(prefix="measuring-") as folder:
        reader = _Reader(Path(folder), key)
        return [_or_fault(reader, pair) for pair in pairs]


def _or_fault(reader: "_Reader", pair: RunPair) -> Measured | Fault:
    try:
        return _measured(reader, pair)
    except ScoringInputError as error:
        return {"fault": CODES[error.code], "is_organizers": error.code in ORGANIZERS}
    except Refused as error:
        return {"fault": CODES[error.code], "is_organizers": False}
    except (InvalidFile, *DAMAGED) as error:
        if is_of_host(error):
            raise
        return {"fault": "a file cannot be read", "is_organizers": False}


def _measured(reader: "_Reader", pair: RunPair) -> Measured:
    plain, check = reader.score(pair["plain"]), reader.score(pair["check"])
    aligned = reader.aligned(plain, pair["check"]) if pair["same_rows"] else None
    error = difference_error(check, aligned or plain, is_paired=aligned is not None and aligned.rows == check.rows)
    return {
        "plain": plain.score,
        "check": check.score,
        "error": error,
        "rows": [check.rows, plain.rows],
        "is_resampled": not (check.is_mean and (aligned or plain).is_mean),
    }


class _Reader:
    """Reads each file once."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key
        self.unpacked: dict[str, Path] = {}
        self.scores: dict[tuple[str, str], SampledScore] = {}

    def score(self, side: Side) -> SampledScore:
        known = (side["reference"], side["predictions"])
        if known not in self.scores:
            reference, predictions = map(self._unpack, known)
            self.scores[known] = sampled_score(reference, predictions, self.key)
        return self.scores[known]

    def aligned(self, plain: SampledScore, check: Side) -> SampledScore | None:
        """The plain score in the order of the check's rows; None where they are not the same rows, each once."""
        path = self._unpack(check["reference"]) / ROWS_FILE
        if not path.is_file():
            return plain
        rows = np.array(path.read_bytes().split(), dtype=np.int64)
        return plain.moved(rows) if np.array_equal(np.sort(rows), np.arange(plain.rows)) else None

    def _unpack(self, source: str) -> Path:
        if source not in self.unpacked:
            check_zip(Path(source), limits=LIMITS, what="The zip")
            into = Path(tempfile.mkdtemp(dir=self.folder))
            with zipfile.ZipFile(source) as archive:  # no name in it leads outside: `check_zip` has looked
                archive.extractall(into)
            self.unpacked[source] = into
        return self.unpacked[source]

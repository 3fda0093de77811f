"""What every scoring program does: read the reference and the uploaded files, refuse or score, write the scores.

Exit codes: 0 scored; 65 (`REFUSED`) the participant's file is invalid and ``refusal.json`` says why; 1 anything else,
which is the organizer's to mend. What a participant can read never depends on the labels: a file is checked completely
before the labels are opened, and a later refusal is a fixed sentence of the vocabulary.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring import reference
from scoring.errors import CODES, ScoringInputError
from scoring.evaluators import evaluate
from scoring.formats import seed_results, submissions
from scoring.reference import Reference
from scoring.samples import per_sample

REFUSED: Final = 65
Arrays = dict[str, NDArray[Any]]


class Refused(Exception):
    """The participant's file is invalid; `code` and `message` are for the participant."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def main(argv: Sequence[str] | None = None) -> int:
    """Entry of a scoring program: ``score.py INPUT OUTPUT``, where INPUT holds ``ref`` and ``res``. The exit code.

    >>> import tempfile
    >>> from scoring.formats.submissions import write
    >>> with tempfile.TemporaryDirectory() as root:
    ...     ref, res, output = (Path(root) / name for name in ("input/ref", "input/res", "output"))
    ...     res.mkdir(parents=True)
    ...     _ = reference.write(ref, "lsc-mag240m", {"test-dev": {"y_true": [1, 2]}})
    ...     _ = write(res, "lsc-mag240m", "test-dev", {"y_pred": [1, 3]}, rows=2)
    ...     main([str(ref.parent), str(output)])
    {"acc": 0.5}
    0
    """
    return run(score_predictions, sys.argv[1:] if argv is None else argv)


def main_results(argv: Sequence[str] | None = None) -> int:
    """As `main`, for self-computed results of several seeds (`scoring.formats.seed_results`).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     ref, res, output = (Path(root) / name for name in ("input/ref", "input/res", "output"))
    ...     res.mkdir(parents=True)
    ...     _ = reference.write_results(ref, "ogbn-papers100M")
    ...     path = seed_results.write(res, "ogbn-papers100M", valid=[0.5] * 3, test=[0.5] * 3, seeds=[1, 2, 3])
    ...     main_results([str(ref.parent), str(output)])
    {"acc": 0.5, "acc_std": 0.0, "acc_valid": 0.5, "acc_valid_std": 0.0}
    0
    """
    return run(score_results, sys.argv[1:] if argv is None else argv)


def run(score: Callable[[Path, Path, Path], dict[str, float]], argv: Sequence[str]) -> int:
    """Score ``INPUT`` into ``OUTPUT`` by a function of the folders ref, res and output; the exit code."""
    if len(argv) != 2:
        print("usage: score.py INPUT OUTPUT (INPUT holds the folders ref and res)", file=sys.stderr)
        return 1
    given, output = Path(argv[0]), Path(argv[1])
    try:
        scores = score(given / "ref", given / "res", output)
    except Refused as refusal:
        write_json(output / "refusal.json", {"code": refusal.code, "message": refusal.message})
        print(f"refused: {refusal.code}: {CODES[refusal.code]}")
        return REFUSED
    except ScoringInputError as error:
        print(f"the reference data cannot be used: {error}", file=sys.stderr)
        return 1
    write_json(output / "scores.json", scores)
    print(json.dumps(scores))
    return 0


def score_predictions(ref: Path, res: Path, output: Path) -> dict[str, float]:
    """Scores of the files in `res`, one per split of the reference folder `ref`.

    With one split the keys are the metrics; with several, ``<metric>_<split>``. All files are checked before any label
    is read. Raises `Refused`, or `ScoringInputError` where the reference is at fault.

    >>> import tempfile
    >>> from scoring.formats.submissions import write
    >>> with tempfile.TemporaryDirectory() as root:
    ...     ref, res, output = (Path(root) / name for name in ("input/ref", "input/res", "output"))
    ...     res.mkdir(parents=True)
    ...     _ = reference.write(ref, "lsc-mag240m", {"test-dev": {"y_true": [1, 2]}})
    ...     _ = write(res, "lsc-mag240m", "test-dev", {"y_pred": [1, 3]}, rows=2)
    ...     score_predictions(ref, res, output)
    {'acc': 0.5}
    """
    known = reference.read(ref)
    uploads = {split: _read_upload(known, split, res) for split in known.rows}
    scores: dict[str, float] = {}
    for split, predictions in uploads.items():
        suffix = "" if len(uploads) == 1 else f"_{split}"
        inputs = {**known.labels(split), **predictions}
        scores |= {f"{key}{suffix}": value for key, value in _evaluate(known, inputs, set(predictions)).items()}
        if known.per_sample and known.dataset is not None:
            _write_samples(output / f"per_sample_{split}.npz", known.dataset, inputs)
    return scores


def score_results(ref: Path, res: Path, output: Path) -> dict[str, float]:
    """Mean and unbiased standard deviation of the self-computed results in `res`; see `scoring.formats.seed_results`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     ref, res, output = (Path(root) / name for name in ("input/ref", "input/res", "output"))
    ...     res.mkdir(parents=True)
    ...     _ = reference.write_results(ref, "ogbn-papers100M")
    ...     path = seed_results.write(res, "ogbn-papers100M", valid=[0.5] * 3, test=[0.5] * 3, seeds=[1, 2, 3])
    ...     score_results(ref, res, output)["acc"]
    0.5
    """
    dataset = reference.dataset_of_results(ref)
    path = _find(res, seed_results.official_filename(dataset))
    try:
        return seed_results.summary(seed_results.read(path, dataset))
    except ScoringInputError as error:
        raise Refused(error.code, str(error)) from error


def _read_upload(known: Reference, split: str, res: Path) -> Arrays:
    """The checked predictions for one split. The labels have not been opened yet, so the whole message may be shown."""
    expected = known.layout(split)
    path = _find(res, expected.filename)
    try:
        return submissions.read_layout(path, expected)
    except ScoringInputError as error:
        raise Refused(error.code, str(error)) from error


def _find(res: Path, filename: str) -> Path:
    """The uploaded file of that name; else the only other file, whose wrong name then makes the best message."""
    files = [path for path in sorted(res.rglob("*")) if is_upload(path, res)]
    exact = [path for path in files if path.name == filename]
    if len(exact) == 1:
        return exact[0]
    if not exact and len(files) == 1:
        return files[0]
    shown = ", ".join(ascii(path.name[:60]) for path in files[:5]) or "nothing"
    code = "wrong_file_name" if files else "no_file"
    times = "twice" if exact else "not"
    raise Refused(code, f"{filename}: it is {times} among the uploaded files ({shown}); upload it once by this name.")


def is_upload(path: Path, res: Path) -> bool:
    """A regular file that a person put there: no link, nothing hidden, none of the extras archivers add."""
    parts = path.relative_to(res).parts
    return path.is_file() and not path.is_symlink() and not any(part.startswith((".", "__MACOSX")) for part in parts)


def _evaluate(known: Reference, inputs: Arrays, predicted: set[str]) -> dict[str, float]:
    """The scores; an error about the predictions is a refusal without any detail, as the labels are in play now."""
    try:
        if known.dataset is not None:
            return evaluate(known.dataset, inputs)
        return {key: value for metric in known.metrics for key, value in evaluate(metric, inputs).items()}
    except ScoringInputError as error:
        if error.where.partition(",")[0] in predicted:
            raise Refused(error.code, f"The predictions cannot be scored: {CODES[error.code]}.") from error
        raise


def _write_samples(path: Path, dataset: str, inputs: Arrays) -> None:
    values: dict[str, Any] = dict(per_sample(dataset, inputs))
    np.savez_compressed(path, **values)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write one JSON document; NaN and infinity raise ValueError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, allow_nan=False) + "\n", "utf-8")

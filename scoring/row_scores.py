"""The score of predictions as a function of their rows: what its sampling error is computed from."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring import reference
from scoring.errors import ScoringInputError
from scoring.evaluation import evaluate, per_sample
from scoring.formats import submissions
from scoring.reference import ArrayReference
from scoring.statistics import SampledScore
from scoring.uploads import find_upload

Arrays = dict[str, NDArray[Any]]


def sampled_score(ref: str | os.PathLike[str], res: str | os.PathLike[str], key: str) -> SampledScore:
    """The score called `key` of the file in the folder `res`, by the rule and labels in the folder `ref`.

    The rows of a table are in the order of their ids.

    Raises `Refused` as the scoring program, and `ScoringInputError`: ``unknown_name`` for a key that it does not write, and
    ``not_decomposable`` for several splits, results of several seeds, a metric of one's own, or one over groups.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "res").mkdir()
    ...     ref = reference.write(Path(folder) / "ref", "lsc-mag240m", {"test-dev": {"y_true": [1, 2]}}).parent
    ...     res = submissions.write(Path(folder) / "res", "lsc-mag240m", "test-dev", {"y_pred": [1, 3]}, rows=2).parent
    ...     sampled_score(ref, res, "acc").losses
    array([1., 0.])
    """
    folder, uploads = Path(ref), Path(res)
    kind = reference.kind(folder)
    if kind == "table":
        from scoring.tables.scores import sampled_table_score  # only here: its table library is an extra

        return sampled_table_score(folder, uploads, key)
    known = _one_split(folder, kind)
    (split,) = known.rows
    expected = known.layout(split)
    inputs = {**known.labels(split), **submissions.read_layout(find_upload(uploads, expected.filename), expected)}
    return sampled_arrays(known.dataset or key, inputs, known.rows[split], key)


def _one_split(folder: Path, kind: str) -> ArrayReference:
    known = reference.read(folder) if kind == "predictions" else None
    if known is None or len(known.rows) != 1:
        what = "it holds several splits, or none"
        raise ScoringInputError("not_decomposable", "the reference folder", what, "use one with a single split")
    return known


def sampled_arrays(name: str, inputs: Arrays, rows: int, key: str) -> SampledScore:
    """The score called `key` of an evaluator's or a metric's arrays.

    Raises `ScoringInputError` (``unknown_name``).

    >>> sampled_arrays("lsc-mag240m", {"y_true": np.array([1, 2]), "y_pred": np.array([1, 3])}, 2, "acc").score
    0.5
    """

    def of_rows(chosen: NDArray[np.int64]) -> float:
        return evaluate(name, {part: array[chosen] if len(array) == rows else array for part, array in inputs.items()})[
            key
        ]

    scores = evaluate(name, inputs)
    if key not in scores:
        raise ScoringInputError("unknown_name", "key", f"there is no score {key!r}", f"use {', '.join(scores)}")
    return SampledScore(scores[key], rows, _losses(name, inputs, key), of_rows)


def _losses(name: str, inputs: Arrays, key: str) -> NDArray[np.float64] | None:
    try:
        values = per_sample(name, inputs).get(key)
    except ScoringInputError as error:
        if error.code != "not_decomposable":
            raise
        return None
    return None if values is None else values.astype(np.float64)

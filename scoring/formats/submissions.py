"""Files of predictions: the official formats of OGB-LSC, OpenBioLink 2021 and per-row OGB predictions.

`check` is what a participant runs before the upload and what a site runs right after it; `read` gives the arrays to
`scoring.evaluate`; `write` makes a file that `check` accepts, or says why it cannot.
"""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.arrays import AnyArray, numeric, require_finite, shape_words, take
from scoring.benchmarks.topk import first_row_with_duplicates
from scoring.errors import ScoringInputError
from scoring.formats import npz
from scoring.formats.layouts import Layout, Member, file_owner, layout, official_filename, splits
from scoring.formats.npz import read_arrays

__all__ = [
    "Report",
    "check",
    "check_headers",
    "named_split",
    "official_filename",
    "read",
    "read_layout",
    "splits",
    "write",
]


class ArrayFacts(TypedDict):
    """Shape and type of an array."""

    shape: list[int]
    dtype: str


@dataclass(frozen=True)
class Report:
    """The content of a valid file. `warnings` are sentences about what is legal but probably a mistake."""

    dataset: str
    split: str
    filename: str
    rows: int
    size_bytes: int
    arrays: dict[str, ArrayFacts]
    warnings: list[str] = field(default_factory=list)


def read(
    path: str | os.PathLike[str], dataset: str, split: str, *, rows: int | None = None, filename: str | None = None
) -> dict[str, NDArray[Any]]:
    """The checked arrays of a file, under the names that `scoring.evaluate` takes.

    Parameters
    ----------
    path : path of the file
    dataset, split : str
        The evaluator's name and the split the file is meant for, see `splits`.
    rows : int, optional
        Number of test items in place of the official one, for a small competition in the same format. For OpenBioLink
        these are triples; its file has twice as many rows.
    filename : str, optional
        The name the uploader gave the file; by default the last part of `path`.

    Returns
    -------
    dict of str to array
        One array per prediction input of the evaluator. OpenBioLink's one array comes back as ``t_pred_top10`` (its
        first half) and ``h_pred_top10``.

    Raises
    ------
    ScoringInputError
        Anything but a right file; the checks go from the name to the header to the values, and no array is allocated
        before its header is right. Peak memory: the arrays and about 2 MB.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(folder, "lsc-mag240m", "test-dev", {"y_pred": [3, 152]}, rows=2)
    ...     read(path, "lsc-mag240m", "test-dev", rows=2)
    {'y_pred': array([  3, 152], dtype=int16)}
    """
    expected = layout(dataset, split, rows)
    return read_layout(Path(path), expected, filename=filename)


def read_layout(path: Path, expected: Layout, *, filename: str | None = None) -> dict[str, NDArray[Any]]:
    """Like `read`, for a layout of one's own (`scoring.formats.layouts.Layout`).

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(folder, "lsc-mag240m", "test-dev", {"y_pred": [3, 152]}, rows=2)
    ...     read_layout(path, layout("lsc-mag240m", "test-dev", 2))["y_pred"].tolist()
    [3, 152]
    """
    _require_name(PurePath(filename).name if filename is not None else path.name, expected)
    arrays = read_arrays(path, expected)
    for member in expected.members:
        _require_values(arrays[member.key], member)
    return _as_inputs(arrays, expected)


def check_headers(
    path: str | os.PathLike[str], dataset: str, split: str, *, rows: int | None = None, filename: str | None = None
) -> None:
    """Check within milliseconds the file's name, its members, their types and shapes. No value is read.

    Raises `ScoringInputError` as `read`.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(folder, "lsc-mag240m", "test-dev", {"y_pred": [3, 152]}, rows=2)
    ...     check_headers(path, "lsc-mag240m", "test-dev", rows=2)
    """
    expected = layout(dataset, split, rows)
    _require_name(PurePath(filename).name if filename is not None else Path(path).name, expected)
    npz.check_headers(Path(path), expected)


def check_name(dataset: str, split: str, filename: str) -> None:
    """Raise `ScoringInputError` for another name than the official one.

    >>> check_name("lsc-pcqm4mv2", "test-dev", "y_pred_pcqm4m-v2_test-dev.npz")
    """
    _require_name(filename, layout(dataset, split, None))


def check(
    path: str | os.PathLike[str], dataset: str, split: str, *, rows: int | None = None, filename: str | None = None
) -> Report:
    """Everything `read` checks, and a report in place of the arrays. Needs no labels.

    Raises `ScoringInputError` as `read`.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(folder, "lsc-mag240m", "test-dev", {"y_pred": [3, 152]}, rows=2)
    ...     check(path, "lsc-mag240m", "test-dev", rows=2).arrays
    {'y_pred': {'shape': [2], 'dtype': 'int16'}}
    """
    inputs = read(path, dataset, split, rows=rows, filename=filename)
    expected = layout(dataset, split, rows)
    return Report(
        dataset=dataset,
        split=split,
        filename=expected.filename,
        rows=expected.rows,
        size_bytes=Path(path).stat().st_size,
        arrays={name: {"shape": list(array.shape), "dtype": str(array.dtype)} for name, array in inputs.items()},
        warnings=_warnings(inputs),
    )


def write(
    folder: str | os.PathLike[str],
    dataset: str,
    split: str,
    arrays: Mapping[str, ArrayLike],
    *,
    rows: int | None = None,
) -> Path:
    """Write the official file into `folder` under its official name, whole or not at all.

    Parameters
    ----------
    arrays : mapping of str to array
        The prediction inputs of the evaluator, of any type that fits: ids and classes are refused rather than wrapped
        around, NaN rather than turned into class 0, as the official writers do.

    Returns
    -------
    Path
        Of the file, which `check` accepts.

    Raises `ScoringInputError` as `read`, ``missing_input``, and ``no_file`` where `folder` is none.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(folder, "lsc-pcqm4mv2", "test-dev", {"y_pred": [5.5, 4.25]}, rows=2)
    ...     path.name, read(path, "lsc-pcqm4mv2", "test-dev", rows=2)["y_pred"].tolist()
    ('y_pred_pcqm4m-v2_test-dev.npz', [5.5, 4.25])
    """
    expected = layout(dataset, split, rows)
    members: dict[str, Any] = {member.key: _as_member(arrays, member, expected) for member in expected.members}
    target = Path(folder) / expected.filename
    if not target.parent.is_dir():
        raise ScoringInputError("no_file", str(target.parent), "there is no such folder", "make it first")
    handle, name = tempfile.mkstemp(suffix=".npz", dir=folder)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **members)
        temporary.chmod(0o644)
        temporary.replace(target)
    except BaseException:
        temporary.unlink()
        raise
    return target


def named_split(dataset: str, filename: str) -> str | None:
    """The split of `dataset` whose official file is called `filename`, or None.

    >>> named_split("lsc-pcqm4mv2", "y_pred_pcqm4m-v2_test-challenge.npz")
    'test-challenge'
    """
    owner = file_owner(filename)
    return owner[1] if owner is not None and owner[0] == dataset else None


def _require_name(name: str, expected: Layout) -> None:
    """The official name and no other, with the reason that helps most."""
    if name == expected.filename:
        return
    owner, ending, right_ending = file_owner(name), PurePath(name).suffix.lower(), PurePath(expected.filename).suffix
    right = f"the file for {expected.split} must be called {expected.filename}; rename it and send it again"
    if owner is not None and owner[0] == expected.dataset:
        raise ScoringInputError("wrong_split", ascii(name), f"this is the name of the file for {owner[1]}", right)
    what = f"this is the name of the file for {owner[0]}" if owner else "this is not the official file name"
    if ending != right_ending:
        what = f"this phase takes an {right_ending} file named {expected.filename}"
        right = f"yours is a {ending} file" if ending else "the name of yours has no ending"
    raise ScoringInputError("wrong_file_name", ascii(name[:120]), what, right)


def _require_values(array: AnyArray, member: Member) -> None:
    """Finite, within the allowed range, and no id twice in a row where that would cost the whole score."""
    require_finite(array, member.key)
    if member.lowest is not None and (smallest := array.min()) < member.lowest:
        raise ScoringInputError("out_of_range", member.key, f"it holds {smallest}", f"the smallest is {member.lowest}")
    if member.highest is not None and (largest := array.max()) > member.highest:
        raise ScoringInputError("out_of_range", member.key, f"it holds {largest}", f"the largest is {member.highest}")
    row = first_row_with_duplicates(array) if member.unique_rows else None
    if row is not None:
        ids, times = np.unique(np.asarray(array[row]), return_counts=True)
        named = ", ".join(str(identity) for identity in ids[(times > 1) & (ids >= 0)][:5])
        what = f"row {row} (from 0) names {named} more than once"
        raise ScoringInputError("duplicate_ids", member.key, what, "name each at most once per row")


def _as_inputs(arrays: dict[str, NDArray[Any]], expected: Layout) -> dict[str, NDArray[Any]]:
    """The arrays under the evaluator's names. OpenBioLink: tails first, then heads, without copying them."""
    if expected.dataset != "obl2021":
        return arrays
    both = arrays["pred_top10"]
    return {"t_pred_top10": both[: expected.rows], "h_pred_top10": both[expected.rows :]}


def _as_member(arrays: Mapping[str, ArrayLike], member: Member, expected: Layout) -> NDArray[Any]:
    """The one array of the file, checked as a reader would check it and only then cast."""
    if expected.dataset == "obl2021":
        given = np.concatenate([numeric(take(arrays, name), name) for name in ("t_pred_top10", "h_pred_top10")])
    else:
        given = numeric(take(arrays, member.key), member.key)
    if given.shape != member.shape:
        raise ScoringInputError(
            "wrong_shape", member.key, f"it is {shape_words(given.shape)}", f"it must be {shape_words(member.shape)}"
        )
    _require_values(given, member)
    with np.errstate(all="ignore"):
        cast = np.ascontiguousarray(given, dtype=np.dtype(member.dtypes[0]))
    whole = cast.dtype.kind == "i"
    if whole and not np.array_equal(cast, given):
        raise ScoringInputError(
            "out_of_range", member.key, f"it holds values that {cast.dtype} cannot hold", "give whole numbers that fit"
        )
    _require_values(cast, member)  # float64 may have become infinite
    return cast


def _warnings(inputs: Mapping[str, NDArray[Any]]) -> list[str]:
    """Sentences about what is legal in the file but looks like an accident."""
    warnings = []
    for name, array in inputs.items():
        if array.dtype.kind == "i" and array.ndim == 2:
            padded = int(np.count_nonzero(array < 0))
            if bool((array == np.iinfo(array.dtype).min).any()):
                warnings.append(
                    f"{name}: it holds {np.iinfo(array.dtype).min}, which NaN becomes when cast to an integer."
                )
            elif padded:
                warnings.append(f"{name}: {padded:,} negative ids are padding and take up ranks.")
        if array.shape[0] > 1 and bool((array == array[:1]).all()):
            warnings.append(f"{name}: all rows are equal.")
    return warnings

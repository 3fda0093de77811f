"""Checks of arrays before anything is computed: kind, shape, values; and walking over them in blocks.

Blocks keep the temporaries in the processor's cache, so that a metric costs a few passes over its input
and no extra memory worth mentioning.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.errors import ScoringInputError

AnyArray: TypeAlias = NDArray[Any]

BLOCK: Final = 16384
"""Elements per block of a one-dimensional pass: 128 kB of float64, which stays in a core's second-level cache."""

_TORCH_KINDS: Final = frozenset("?bBhilqefd")  # what torch.from_numpy takes and torch can compare
_KIND_NAMES: Final = {"O": "Python objects", "U": "text", "S": "bytes", "c": "complex numbers", "V": "records"}


def numeric(value: ArrayLike, name: str) -> AnyArray:
    """`value` as an array of booleans, integers or floats; never a copy of one that already is.

    Raises `ScoringInputError` (``wrong_type``, ``wrong_dtype``) for masked arrays, ragged lists, text, objects,
    complex.

    >>> numeric([1, 2], "y_pred")
    array([1, 2])
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ScoringInputError("wrong_type", name, "a masked array was given", "fill its gaps, or use NaN labels")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ScoringInputError("wrong_type", name, "the rows differ in length", "give a rectangular array") from error
    if array.dtype.kind not in "biuf":
        held = _KIND_NAMES.get(array.dtype.kind, f"values of type {array.dtype}")
        raise ScoringInputError("wrong_dtype", name, f"it holds {held}", "give an array of numbers")
    return array


def take(inputs: Mapping[str, Any], name: str) -> Any:
    """The entry `name` of `inputs`, or the error ``missing_input`` that lists what is there.

    >>> take({"y_true": [1]}, "y_pred")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: y_pred: it is missing, given were: y_true; add the array 'y_pred'.
    """
    if name not in inputs:
        there = ", ".join(sorted(map(str, inputs))) or "nothing"
        raise ScoringInputError("missing_input", name, f"it is missing, given were: {there}", f"add the array {name!r}")
    return inputs[name]


def shape_words(shape: tuple[int, ...]) -> str:
    """A shape as somebody says it.

    >>> shape_words((73545,)), shape_words((59, 10)), shape_words((1,)), shape_words(())
    ('an array of 73545 numbers', 'an array of 59 by 10 numbers', 'an array of 1 number', 'a single number')
    """
    if not shape:
        return "a single number"
    return f"an array of {' by '.join(map(str, shape))} number{'' if shape == (1,) else 's'}"


def require_ndim(array: AnyArray, name: str, ndim: int, right: str) -> None:
    """Refuse an array that does not have exactly `ndim` dimensions; `right` is what to give instead.

    >>> require_ndim(np.zeros((2, 1)), "t", 1, "one number per row")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: t: it is an array of 2 by 1 numbers; give one number per row.
    """
    if array.ndim != ndim:
        raise ScoringInputError("wrong_shape", name, f"it is {shape_words(array.shape)}", f"give {right}")


def require_same_shape(first: AnyArray, second: AnyArray, names: tuple[str, str]) -> None:
    """Refuse two arrays of unequal shapes: nothing is ever broadcast.

    >>> require_same_shape(np.zeros(2), np.zeros(3), ("y_true", "y_pred"))
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: y_pred: it is an array of 3 numbers; give an array of 2 numbers, like y_true.
    """
    if first.shape != second.shape:
        raise ScoringInputError(
            "wrong_shape",
            names[1],
            f"it is {shape_words(second.shape)}",
            f"give {shape_words(first.shape)}, like {names[0]}",
        )


def require_rows(array: AnyArray, name: str) -> None:
    """Refuse an array without rows: no metric of nothing is a number.

    >>> require_rows(np.zeros(0), "y_pred")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: y_pred: it holds no rows; give at least one row.
    """
    if array.shape[0] == 0:
        raise ScoringInputError("empty_input", name, "it holds no rows", "give at least one row")


def require_columns(array: AnyArray, name: str, columns: int) -> None:
    """Refuse a two-dimensional array of another width.

    >>> require_columns(np.zeros((2, 9)), "ids", 10)
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: ids: it is an array of 2 by 9 numbers; give 10 numbers per row.
    """
    if array.ndim != 2 or array.shape[1] != columns:
        raise ScoringInputError(
            "wrong_shape",
            name,
            f"it is {shape_words(array.shape)}",
            f"give {columns} number{'' if columns == 1 else 's'} per row",
        )


def require_no_nan(array: AnyArray, name: str) -> None:
    """Refuse NaN. One pass, in blocks; integers cannot hold any.

    >>> require_no_nan(np.array([np.nan]), "y_pred")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: y_pred: it holds NaN, first in row 0 (from 0); give a number in every place.
    """
    _require_none(np.isnan, array, name, ("nan", "it holds NaN"), "give a number in every place")


def require_finite(array: AnyArray, name: str) -> None:
    """Refuse NaN (``nan``) and infinity (``infinite``). Integers hold neither.

    >>> require_finite(np.array([np.inf]), "y_pred")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: y_pred: it holds infinity, first in row 0 (from 0); give a finite number in every place.
    """
    require_no_nan(array, name)
    _require_none(np.isinf, array, name, ("infinite", "it holds infinity"), "give a finite number in every place")


def _require_none(
    is_wrong: Callable[[AnyArray], Any], array: AnyArray, name: str, problem: tuple[str, str], right: str
) -> None:
    """Refuse floats that `is_wrong` marks, with the first row that has some."""
    if array.dtype.kind != "f":
        return
    before = 0  # rows
    for part in _flat_blocks(array):
        marks = is_wrong(part)
        if marks.any():
            code, what = problem
            row = before + int(marks.reshape(len(marks), -1).any(axis=1).argmax()) if array.ndim else 0
            raise ScoringInputError(code, name, f"{what}, first in row {row:,} (from 0)", right)
        before += len(part) if array.ndim else 0


def blocks(length: int, size: int) -> Iterator[slice]:
    """Consecutive slices that cover ``range(length)``.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _flat_blocks(array: AnyArray) -> Iterator[AnyArray]:
    """The array's elements in blocks, along the first axis, without copying it."""
    rows = max(1, BLOCK // max(1, array[:1].size))
    return (array[part] for part in blocks(array.shape[0], rows)) if array.ndim else iter((array,))


def torch_common_dtype(first: AnyArray, second: AnyArray, names: tuple[str, str]) -> np.dtype[Any]:
    """The type in which torch compares the two: the type of the float when only one of them is a float.

    The official LSC, OpenBioLink and MRR evaluators compare torch tensors; numpy would compare int64 with float32 as
    float64 instead. Raises ``wrong_dtype`` for what torch cannot compare (uint16, uint32, uint64, long double,
    byte-swapped).

    >>> torch_common_dtype(np.zeros(1, np.int64), np.zeros(1, np.float32), ("a", "b"))
    dtype('float32')
    """
    for array, name in zip((first, second), names, strict=True):
        if array.dtype.char not in _TORCH_KINDS or not array.dtype.isnative:
            what = f"the official evaluator cannot read {array.dtype.str}"
            right = "use native int16, int32, int64, float32 or float64"
            raise ScoringInputError("wrong_dtype", name, what, right)
    floats = [array.dtype for array in (first, second) if array.dtype.kind == "f"]
    return floats[0] if len(floats) == 1 else np.promote_types(first.dtype, second.dtype)


def compared_as(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Arguments that make a numpy comparison convert both sides to `dtype`, in small buffers.

    >>> bool(np.equal(np.int64(2**24 + 1), np.float32(2**24), **compared_as(np.dtype(np.float32))))
    True
    """
    return {"signature": (dtype, dtype, np.dtype(np.bool_)), "casting": "same_kind"}


def is_labelled(labels: AnyArray) -> NDArray[np.bool_]:
    """True for each place with a label: NaN means "not labelled".

    >>> is_labelled(np.array([1.0, np.nan]))
    array([ True, False])
    """
    return ~np.isnan(labels)


def count_equal(first: AnyArray, second: AnyArray, dtype: np.dtype[Any] | None = None) -> int:
    """Number of places of two one-dimensional arrays that are equal, compared as `dtype`.

    Default: numpy's promotion.

    >>> count_equal(np.array([1, 2, 3]), np.array([1.0, 2.5, 3.0]))
    2
    """
    options = {} if dtype is None else compared_as(dtype)
    parts = blocks(first.shape[0], BLOCK)
    return sum(int(np.count_nonzero(np.equal(first[part], second[part], **options))) for part in parts)

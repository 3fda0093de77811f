"""Questions to the process that measures scores, and its answers."""

from typing import TypedDict, final


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

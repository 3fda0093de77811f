"""A score as a function of its rows, and the error of the difference of two, also of different rows.

`scoring.replicates` draws the resamples that the entries of a board share, `scoring.standings` says what follows from them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringInputError

ERROR_RESAMPLES: Final = 200  # enough for a standard error (Efron & Tibshirani 1993, section 6.4)


@dataclass(frozen=True)
class SampledScore:
    """A score of so many rows, and how it depends on them.

    `losses`: one value for each row, or as many for each, one round after the other; None where there are none. Their mean
    is the score, or `finish` makes it of their mean. `of_rows` gives the score of the rows at some places, each as often as it is named.
    """

    score: float
    rows: int
    losses: NDArray[np.float64] | None
    of_rows: Callable[[NDArray[np.int64]], float]
    finish: Callable[[float], float] | None = None

    @property
    def is_mean(self) -> bool:
        """True where the score is the mean of `losses`."""
        return self.losses is not None and self.finish is None

    def moved(self, places: NDArray[np.int64]) -> "SampledScore":
        """The same score, its row i being the row that was at `places[i]`.

        >>> SampledScore(1.5, 2, np.array([1.0, 2.0]), lambda chosen: 0.0).moved(np.array([1, 0])).losses
        array([2., 1.])
        """
        losses = self.losses
        if losses is not None:  # rows without a label have no loss: then the rest cannot be told apart by place
            losses = None if losses.size % self.rows else losses.reshape(-1, self.rows)[:, places].ravel()
        return replace(self, losses=losses, of_rows=lambda chosen: self.of_rows(places[chosen]))


def difference_error(first: SampledScore, second: SampledScore, *, is_paired: bool) -> float:
    """Standard error of the difference of two scores, in their unit.

    Means over rows: by formula, from the variance of the rows' differences when paired, else from the sum of the two
    means' variances. Other scores: the standard deviation over seeded bootstrap resamples of rows, the same rows for both
    when paired. Resamples that cannot be scored (one class alone, for instance) are left out.

    Parameters
    ----------
    is_paired : bool
        True where row i of both is the same item. What is common to both then cancels.

    Raises
    ------
    ScoringInputError
        ``wrong_shape`` for paired scores of different numbers of rows, ``empty_input`` for fewer than two rows or where
        fewer than half of the resamples can be scored.

    References: Student (1908), "The probable error of a mean", Biometrika 6(1), for paired rows; Welch (1938), "The
    significance of the difference between two means when the population variances are unequal", Biometrika 29, for
    others; Efron & Tibshirani (1993), "An Introduction to the Bootstrap", chapter 6.

    >>> right, other = (SampledScore(0.5, 4, np.array(row), lambda chosen: 0.0) for row in ([1.0, 0, 1, 0], [1.0, 0, 0, 1]))
    >>> round(difference_error(right, other, is_paired=False), 3), round(difference_error(right, right, is_paired=True), 3)
    (0.408, 0.0)
    """
    if is_paired and first.rows != second.rows:
        raise ScoringInputError(
            "wrong_shape", "second", f"it has {second.rows} rows", f"give {first.rows}, the same items as the first"
        )
    if first.losses is None or second.losses is None or not (first.is_mean and second.is_mean):
        return _bootstrap_error(first, second, is_paired)
    if is_paired:
        return _mean_error(first.losses - second.losses)
    return math.hypot(_mean_error(first.losses), _mean_error(second.losses))


def _mean_error(values: NDArray[np.float64]) -> float:
    """The standard error of the mean of independent values."""
    if values.size < 2:
        raise ScoringInputError("empty_input", "losses", f"there are {values.size} rows", "give at least two")
    return float(np.std(values, ddof=1)) / math.sqrt(values.size)


def _bootstrap_error(first: SampledScore, second: SampledScore, is_paired: bool) -> float:
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(ERROR_RESAMPLES):
        chosen = rng.integers(0, first.rows, first.rows)
        others = chosen if is_paired else rng.integers(0, second.rows, second.rows)
        try:
            differences.append(first.of_rows(chosen) - second.of_rows(others))
        except ScoringInputError:
            continue
    if len(differences) < ERROR_RESAMPLES / 2:
        what = f"only {len(differences)} of {ERROR_RESAMPLES} resamples can be scored"
        raise ScoringInputError("empty_input", "rows", what, "give more rows")
    return float(np.std(differences, ddof=1))

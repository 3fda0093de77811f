"""The confidence in a score: paired bootstrap over single samples (`scoring.per_sample`).

Functions of several entries take one row per entry and one column per sample; the score of an entry is the mean of its
row. All entries are resampled together, sample by sample, so what is common to them (hard samples) cancels in a
comparison. `difference_error` is for two scores of any kind, also of different samples. Everything is seeded: the same
arguments give the same answer.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.arrays import numeric, require_finite, require_ndim, require_rows
from scoring.errors import ScoringInputError
from scoring.metrics.metric import Direction

Method = Literal["bca", "percentile"]

RESAMPLES: Final = 2000
ERROR_RESAMPLES: Final = 200  # enough for a standard error (Efron & Tibshirani 1993, section 6.4)
_DRAWS_AT_A_TIME: Final = 1 << 21  # 16 MB of drawn places


@dataclass(frozen=True)
class Interval:
    """A confidence interval around `score`, in the unit of the samples."""

    score: float
    low: float
    high: float
    level: float
    method: Method


@dataclass(frozen=True)
class SampledScore:
    """A score of so many rows, and how it depends on them.

    `losses`: one value for each row, or as many for each, whose mean is the score; None where it is no such mean.
    `of_rows` gives the score of the rows at some places, each as often as it is named.
    """

    score: float
    rows: int
    losses: NDArray[np.float64] | None
    of_rows: Callable[[NDArray[np.int64]], float]

    def moved(self, places: NDArray[np.int64]) -> "SampledScore":
        """The same score, its row i being the row that was at `places[i]`.

        >>> SampledScore(1.5, 2, np.array([1.0, 2.0]), lambda chosen: 0.0).moved(np.array([1, 0])).losses
        array([2., 1.])
        """
        losses = self.losses
        if losses is not None:  # rows without a label have no loss: then the rest cannot be told apart by place
            losses = None if losses.size % self.rows else losses.reshape(-1, self.rows)[:, places].ravel()
        return replace(self, losses=losses, of_rows=lambda chosen: self.of_rows(places[chosen]))


def difference_error(
    first: SampledScore, second: SampledScore, *, is_paired: bool, resamples: int = ERROR_RESAMPLES, seed: int = 0
) -> float:
    """Standard error of the difference of two scores, in their unit.

    Means over rows: by formula, from the variance of the rows' differences when paired, else from the sum of the two
    means' variances. Other scores: the standard deviation over seeded bootstrap resamples of rows, the same rows for both
    when paired. Resamples that cannot be scored (one class alone, for instance) are left out.

    Parameters
    ----------
    is_paired : bool
        True where row i of both is the same item. What is common to both then cancels.
    resamples : int, at least 2

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
    if first.losses is None or second.losses is None:
        return _bootstrap_error(first, second, is_paired, resamples, seed)
    if is_paired:
        return _mean_error(first.losses - second.losses)
    return math.hypot(_mean_error(first.losses), _mean_error(second.losses))


def resampled_means(samples: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """Means of bootstrap resamples, the same resamples for every entry.

    Parameters
    ----------
    samples : array-like of shape (n_entries, n_samples)
        Finite scores of the single samples.
    resamples : int, at least 1
    seed : int

    Returns
    -------
    array of shape (resamples, n_entries)

    Time grows with ``resamples * n_samples * (1 + n_entries / 20)`` or so; extra memory stays near 60 MB.

    Raises
    ------
    ScoringInputError
        Not two-dimensional, empty, NaN or infinity, ``bad_parameter``.

    References: Efron & Tibshirani (1993), "An Introduction to the Bootstrap".

    >>> resampled_means([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], resamples=2).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    values = _entries(samples)
    if resamples < 1:
        raise ScoringInputError("bad_parameter", "resamples", f"it is {resamples}", "give a whole number from 1")
    count = values.shape[1]
    counts = _times_drawn(np.random.default_rng(seed), count, resamples)
    means: NDArray[np.float64] = np.concatenate([times @ values.T for times in counts]) / count
    return means


def confidence_interval(
    samples: ArrayLike, *, level: float = 0.95, method: Method = "bca", resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Bootstrap confidence interval of one entry's score.

    Parameters
    ----------
    samples : array-like of shape (n_samples,)
    level : float between 0 and 1
    method : {"bca", "percentile"}
        Bias-corrected and accelerated, or plain percentiles. Where all resamples agree both are the score itself.

    Raises `ScoringInputError` as `resampled_means`.

    References: Efron (1987), "Better bootstrap confidence intervals", JASA 82(397).

    >>> interval = confidence_interval([0.0, 1.0] * 50)
    >>> interval.score, 0.38 < interval.low < 0.42, 0.58 < interval.high < 0.62
    (0.5, True, True)
    """
    _require_share(level, "level")
    values = numeric(samples, "samples")
    require_ndim(values, "samples", 1, "one dimension, (samples,)")
    means = resampled_means(values[np.newaxis], resamples=resamples, seed=seed)[:, 0]
    score = float(np.mean(values, dtype=np.float64))
    shares = (1 - level) / 2, (1 + level) / 2
    if method == "bca":
        bias, acceleration = _bias(means, score), _acceleration(values)
        shares = _correct(shares[0], bias, acceleration), _correct(shares[1], bias, acceleration)
    low, high = np.quantile(means, shares).tolist()
    return Interval(score, low, high, level, method)


def probability_better(
    first: ArrayLike, second: ArrayLike, *, direction: Direction, resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """Share of paired resamples in which `first` scores better than `second`; a tie counts half.

    Parameters
    ----------
    first, second : array-like of shape (n_samples,)
        Scores on the *same* samples in the same order.
    direction : {"max", "min"}
        Which direction is better.

    Raises `ScoringInputError` as `resampled_means`.

    >>> probability_better([1.0, 1.0, 0.9], [0.5, 0.4, 0.2], direction="max")
    1.0
    """
    pair = [numeric(first, "first"), numeric(second, "second")]
    if pair[0].shape != pair[1].shape:
        raise ScoringInputError(
            "wrong_shape", "second", f"the shape is {pair[1].shape}", f"give {pair[0].shape}, the same samples"
        )
    means = _sign(direction) * resampled_means(np.stack(pair), resamples=resamples, seed=seed)
    return _share_above(means[:, 0], means[:, 1])


def rank_intervals(
    samples: ArrayLike, *, direction: Direction, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> NDArray[np.int64]:
    """Lowest and highest rank of every entry that the data support; shape (n_entries, 2).

    In every resample an entry's rank is 1 plus the number of entries that score strictly better. The interval holds the
    central `level` of the resamples, rounded outwards.

    >>> rank_intervals([[0.9, 0.8, 0.9], [0.1, 0.2, 0.1]], direction="max").tolist()
    [[1, 1], [2, 2]]
    """
    _require_share(level, "level")
    means = _sign(direction) * resampled_means(samples, resamples=resamples, seed=seed)
    ranks = np.stack([_ranks(entry, means) for entry in range(means.shape[1])], axis=1)
    low = np.quantile(ranks, (1 - level) / 2, axis=0, method="lower")
    high = np.quantile(ranks, (1 + level) / 2, axis=0, method="higher")
    return np.stack([low, high], axis=1).astype(np.int64)


def tiers(
    samples: ArrayLike, *, direction: Direction, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> list[int]:
    """The tier of every entry, from 1: entries of one tier cannot be told apart from its best one.

    From the best score down, an entry opens a new tier when the best entry of the current tier beats it in at least
    `level` of the paired resamples. Two entries of neighbouring tiers may still be close to each other.

    >>> tiers([[0.2, 0.1, 0.3], [0.9, 0.8, 0.9], [0.9, 0.9, 0.8]], direction="max")
    [2, 1, 1]
    """
    _require_share(level, "level")
    values = _sign(direction) * _entries(samples)
    means = resampled_means(values, resamples=resamples, seed=seed)
    order = np.argsort(-values.mean(axis=1), kind="stable").tolist()
    tier, leader = 1, order[0]
    tier_of = dict.fromkeys(order, 1)
    for entry in order[1:]:
        if _share_above(means[:, leader], means[:, entry]) >= level:
            tier, leader = tier + 1, entry
        tier_of[entry] = tier
    return [tier_of[entry] for entry in range(len(order))]


def _mean_error(values: NDArray[np.float64]) -> float:
    """The standard error of the mean of independent values."""
    if values.size < 2:
        raise ScoringInputError("empty_input", "losses", f"there are {values.size} rows", "give at least two")
    return float(np.std(values, ddof=1)) / math.sqrt(values.size)


def _bootstrap_error(first: SampledScore, second: SampledScore, is_paired: bool, resamples: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    differences = []
    for _ in range(resamples):
        chosen = rng.integers(0, first.rows, first.rows)
        others = chosen if is_paired else rng.integers(0, second.rows, second.rows)
        try:
            differences.append(first.of_rows(chosen) - second.of_rows(others))
        except ScoringInputError:
            continue
    if len(differences) < max(2, resamples / 2):
        what = f"only {len(differences)} of {resamples} resamples can be scored"
        raise ScoringInputError("empty_input", "rows", what, "give more rows")
    return float(np.std(differences, ddof=1))


def _entries(samples: ArrayLike) -> NDArray[np.float64]:
    values = numeric(samples, "samples")
    require_ndim(values, "samples", 2, "two dimensions, (entries, samples)")
    require_rows(values, "samples")
    require_rows(values.T, "samples")
    require_finite(values, "samples")
    return values.astype(np.float64, copy=False)


def _times_drawn(rng: np.random.Generator, count: int, resamples: int) -> Iterator[NDArray[np.float64]]:
    """The number of times that each sample is drawn, for a few resamples at a time.

    Arrays of shape (some, count).
    """
    rows = max(1, _DRAWS_AT_A_TIME // count)
    for start in range(0, resamples, rows):
        some = min(rows, resamples - start)
        places = rng.integers(0, count, (some, count)) + np.arange(some)[:, np.newaxis] * count
        yield np.bincount(places.ravel(), minlength=some * count).reshape(some, count).astype(np.float64)


def _bias(means: NDArray[np.float64], score: float) -> float:
    """The normal quantile of the share of resamples below the score."""
    share = float(np.mean(means < score) + np.mean(means <= score)) / 2
    nearest = 0.5 / means.size  # a share of 0 or 1 has no finite quantile
    return NormalDist().inv_cdf(min(max(share, nearest), 1 - nearest))


def _acceleration(values: NDArray[Any]) -> float:
    """Skewness of the mean's jackknife values, in closed form."""
    gaps = values - np.mean(values, dtype=np.float64)
    spread = float(np.sum(gaps**2))
    return float(np.sum(gaps**3)) / (6 * spread**1.5) if spread > 0 else 0.0


def _correct(share: float, bias: float, acceleration: float) -> float:
    """The share of resamples at which the interval has its end."""
    moved = bias + NormalDist().inv_cdf(share)
    return NormalDist().cdf(bias + moved / (1 - acceleration * moved))


def _share_above(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Share of resamples in which the first mean is higher; a tie counts half."""
    gaps, room = first - second, _rounding(first)
    return (int(np.count_nonzero(gaps > room)) + int(np.count_nonzero(gaps >= -room))) / (2 * gaps.size)


def _ranks(entry: int, means: NDArray[np.float64]) -> NDArray[np.int64]:
    """The entry's rank in every resample, where higher is better."""
    better: NDArray[np.int64] = np.count_nonzero(means > means[:, entry : entry + 1] + _rounding(means), axis=1)
    return 1 + better


def _rounding(means: NDArray[np.float64]) -> float:
    """Gaps up to this are ties: matrix products may sum equal rows in different orders."""
    return 1e-12 * float(np.max(np.abs(means)))


def _sign(direction: Direction) -> int:
    if direction not in ("max", "min"):
        raise ScoringInputError("bad_parameter", "direction", f"it is {direction!r}", "give 'max' or 'min'")
    return 1 if direction == "max" else -1


def _require_share(value: float, name: str) -> None:
    if not (math.isfinite(value) and 0 < value < 1):
        raise ScoringInputError("bad_parameter", name, f"it is {value}", "give a number between 0 and 1")

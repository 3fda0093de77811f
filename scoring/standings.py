"""Intervals of scores, ranges of ranks and tiers of a board, from the replicates of its entries.

Functions of a board take one score and one row of replicates for each entry. Replicate b of every entry is of the same
resample, so that differences between entries are paired. `scoring.replicates` makes them.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from scoring.errors import ScoringInputError
from scoring.metrics.metric import Direction

LEVEL: Final = 0.95
FEWEST_SHARED: Final = 100  # resamples on which all entries have a value; fewer tell nobody apart
NEIGHBOURS: Final = 20  # of the top: the gaps between these decide a contest
_ROWS_AT_A_TIME: Final = 100
_COLUMNS_AT_A_TIME: Final = 2000  # so many rows and columns stay in a core's cache
_LARGEST: Final = 10  # a larger z is as sure
_PARTS: Final = 1000  # of 1, in which sizes of z are counted
_ROUNDING: Final = 1e-12  # of a variance
FEW_ITEMS: Final = 25  # that one entry has right and the other wrong: up to so many, they are counted
_EXACT_UP_TO: Final = 2000  # entries; above, errors of differences are computed in single precision,
_FEWER: Final = 250  # and of so many resamples, which puts them 5 % apart at the most

NORMAL: Final = NormalDist()
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Pairs = list[tuple[slice, NDArray[np.int16]]]


@dataclass(frozen=True)
class Standings:
    """The standing of each entry of a board, in its order; ranks and tiers count from 1.

    `low` and `high` are the ends of the score's interval. `first_rank` and `last_rank` are the ends of the range of ranks
    that the data allow. `beats_above` is the share of resamples in which the entry scores better than the next better one;
    NaN for the best. `resolution` is the smallest difference of neighbours at the top that the test set tells apart; NaN
    for a single entry. `top` are the places of the best 20, the best first; `beats` says in which share of resamples the
    one of the row is better than the one of the column, and `surely_beats` if it surely is.
    """

    low: Floats
    high: Floats
    first_rank: Counts
    last_rank: Counts
    tier: Counts
    beats_above: Floats
    resolution: float
    top: Counts
    beats: Floats
    surely_beats: NDArray[np.bool_]


def standings(
    scores: NDArray[np.floating],
    replicates: NDArray[np.floating],
    *,
    direction: Direction,
    level: float = LEVEL,
    share_items: int = 0,
) -> Standings:
    """Intervals, ranges of ranks and tiers of a board.

    Two entries are told apart by the difference of their scores in units of the standard deviation of its replicates, two
    sided; shares of right answers that differ on 25 items at the most by McNemar's exact test. Holm's correction over all
    pairs makes everything that is said of a board hold together at `level`, also of rows that were chosen for their rank.
    The range of an entry's ranks is one more than the number of entries that are surely better, to the number of all less
    those that are surely worse. A tier is the best entry that is in none yet, with all others that it does not surely beat.
    Where fewer than 100 resamples give all entries a value, nobody surely beats anybody.

    Parameters
    ----------
    scores : array of shape (entries,)
    replicates : array of shape (entries, resamples)
        NaN where a score has no value on a resample.
    direction : {"max", "min"}
        Which direction is better.
    level : float between 0 and 1
    share_items : int
        The number of items where the scores are shares of those that are right; 0 for other scores.

    Raises
    ------
    ScoringInputError
        ``wrong_shape``, ``bad_parameter``.

    References: McNemar (1947), "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12(2); Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6(2); Goldstein & Spiegelhalter (1996), "League tables and their limitations", JRSS A 159(3);
    Mogstad, Romano, Shaikh & Wilhelm (2024), "Inference for ranks", Review of Economic Studies 91(1).

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(0, 0.1, (3, 1000))
    >>> board = standings(np.array([5.0, 5.01, 9.0]), np.array([[5.0], [5.01], [9.0]]) + noise, direction="max")
    >>> board.tier.tolist(), board.first_rank.tolist(), board.last_rank.tolist()
    ([2, 2, 1], [2, 2, 1], [3, 3, 1])
    """
    _require_board(scores, replicates, level)
    low, high = intervals(scores, replicates, level=level)
    sign = 1 if direction == "max" else -1
    board = _Board.of(sign * scores, sign * replicates, share_items)
    # For small products threads wait.
    with threadpool_limits(1, "blas") if len(scores) > _ROWS_AT_A_TIME else nullcontext():
        pairs = board.pairs()
    limit = _limit(pairs, len(scores), level)
    better, worse = _surely_apart(pairs, len(scores), limit)
    order = np.argsort(-board.scores, kind="stable")
    top = order[:NEIGHBOURS]
    return Standings(
        low=low,
        high=high,
        first_rank=1 + better,
        last_rank=len(scores) - worse,
        tier=_tiers(board, order, limit),
        beats_above=_beats_above(board, order),
        resolution=_resolution(board, top, level),
        top=top,
        beats=np.stack([_better_share(board.replicates[place] - board.replicates[top]) for place in top]),
        surely_beats=board.z(top, top) >= limit,
    )


def comparable(replicates: NDArray[np.floating]) -> NDArray[np.bool_]:
    """True for entries with values on 100 resamples in common, shape (entries,); most values come first.

    So an entry with few values is left out, and the others are told apart without it.

    >>> replicates = np.zeros((3, 1000))
    >>> replicates[2, 60:] = np.nan
    >>> comparable(replicates).tolist()
    [True, True, False]
    """
    known = np.isfinite(replicates)
    if np.count_nonzero(known.all(axis=0)) >= FEWEST_SHARED:
        return np.ones(len(known), dtype=np.bool_)
    chosen = np.zeros(len(known), dtype=np.bool_)
    shared = np.ones(known.shape[1], dtype=np.bool_)
    for place in np.argsort(-known.sum(axis=1), kind="stable"):
        remaining = shared & known[place]
        if np.count_nonzero(remaining) >= FEWEST_SHARED:
            chosen[place], shared = True, remaining
    return chosen


def intervals(
    scores: NDArray[np.floating], replicates: NDArray[np.floating], *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the scores' confidence intervals, bias-corrected and accelerated (BCa).

    The acceleration is a sixth of the skewness of the replicates, which for a mean is that of its jackknife values. Where
    all replicates agree both ends are the score: the items say nothing of its error then.

    Reference: Efron (1987), "Better bootstrap confidence intervals", JASA 82(397).

    >>> low, high = intervals(np.zeros(1), np.random.default_rng(0).normal(0, 1, (1, 10_000)))
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([-2.0], [2.0])
    """
    low, high = (np.array(scores, dtype=np.float64) for _ in range(2))
    for start in range(0, len(scores), _ROWS_AT_A_TIME):
        rows = slice(start, start + _ROWS_AT_A_TIME)
        known = np.where(np.isfinite(replicates[rows]), replicates[rows], np.nan)
        low[rows], high[rows] = _ends(low[rows], np.sort(known, axis=1), level)
    return low, high


def _ends(scores: Floats, known: NDArray[np.floating], level: float) -> tuple[Floats, Floats]:
    """The ends of the intervals of some scores; `known` are their replicates in order, NaN at the end."""
    counts = np.isfinite(known).sum(axis=1)
    places = np.flatnonzero((counts > 1) & (known[:, 0] < known[np.arange(len(known)), counts - 1]))
    ends = scores.copy(), scores.copy()
    if not len(places):
        return ends
    known, counts = known[places], counts[places]
    centre = scores[places].astype(known.dtype)[:, None]  # as exact as they are, so that what is equal is so
    below = (np.count_nonzero(known < centre, axis=1) + np.count_nonzero(known <= centre, axis=1)) / (2 * counts)
    nearest = 0.5 / counts  # a share of 0 or 1 has no finite quantile
    shares = np.clip(below, nearest, 1 - nearest).tolist()
    biases = {share: NORMAL.inv_cdf(share) for share in set(shares)}
    accelerations = (_skewness(known) / 6).tolist()
    rows = np.arange(len(known))
    for end, of_interval in zip(ends, ((1 - level) / 2, (1 + level) / 2), strict=True):
        quantile = NORMAL.inv_cdf(of_interval)
        corrected = [_corrected(quantile, biases[share], of) for share, of in zip(shares, accelerations, strict=True)]
        place = np.array(corrected) * (counts - 1)
        before = place.astype(np.int64)
        first, then = (known[rows, np.minimum(at, counts - 1)].astype(np.float64) for at in (before, before + 1))
        end[places] = first + (place - before) * (then - first)
    return ends


def _skewness(values: NDArray[np.floating]) -> Floats:
    """The skewness of each row, of what is not a NaN in it; 0 where rounding leaves none."""
    sizes = np.nanmax(np.abs(values), axis=1, keepdims=True)
    gaps = values.astype(np.float64) / sizes  # third powers of huge or tiny scores are no numbers
    gaps -= np.nanmean(gaps, axis=1, keepdims=True)
    count = np.isfinite(values).sum(axis=1)
    if (count < values.shape[1]).any():
        gaps = np.nan_to_num(gaps)
    squares = gaps * gaps
    third = np.einsum("ij,ij->i", squares, gaps) / count
    variance = squares.sum(axis=1) / count
    skewness: Floats = np.divide(third, variance**1.5, out=np.zeros(len(values)), where=variance > 0)
    return skewness


def wilson(share: float, items: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Lower and upper end of the interval of a share of so many items; it holds at 0 and 1, too.

    Reference: Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22(158).

    >>> low, high = wilson(1.0, 100)
    >>> round(low, 3), high
    (0.963, 1.0)
    """
    z = NORMAL.inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * items)) / (1 + z * z / items)
    half = z * math.sqrt(share * (1 - share) / items + (z / (2 * items)) ** 2) / (1 + z * z / items)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class _Board:
    """Scores, higher is better, with their replicates.

    `centred`: replicates about their mean, over the root of their number, so that products are covariances.
    `share_items`: as of `standings`.
    """

    scores: NDArray[np.floating]
    replicates: NDArray[np.floating]
    centred: NDArray[np.floating]
    variances: NDArray[np.floating]
    share_items: int

    @classmethod
    def of(cls, scores: NDArray[np.floating], replicates: NDArray[np.floating], share_items: int) -> "_Board":
        known = np.isfinite(replicates).all(axis=0)  # a resample that some entry has no value on compares nobody
        if np.count_nonzero(known) < FEWEST_SHARED:
            none = np.empty((len(scores), 0))
            return cls(scores.astype(np.float64), none, none, np.full(len(scores), np.inf), share_items)
        usable = replicates if known.all() else replicates[:, known]
        is_small = len(scores) <= _EXACT_UP_TO
        centred = usable.astype(np.float64) if is_small else usable[:, :_FEWER].astype(np.float32)
        centred -= centred.mean(axis=1, keepdims=True)
        centred /= math.sqrt(max(centred.shape[1] - 1, 1))
        variances = np.einsum("ij,ij->i", centred, centred)
        return cls(scores.astype(centred.dtype), usable, centred, variances, share_items)

    def z(
        self, chosen: NDArray[np.int64] | slice, others: NDArray[np.int64] | slice = slice(None)
    ) -> NDArray[np.floating]:
        """The lead of each chosen entry over the others in standard errors, shape (chosen, others).

        0 where two entries are equal, and next to that where they differ by rounding alone.
        """
        variances = self.variances[chosen][:, None] + self.variances[others]
        products = self.centred[chosen] @ self.centred[others].T
        products *= 2
        variances -= products
        gaps = self.scores[chosen][:, None] - self.scores[others]
        few, exact = self._few_items(gaps.ravel(), variances.ravel())
        # A difference of nothing has no error, and no product is exact: what differs by rounding alone is far below 1.
        least = _ROUNDING * self.variances[chosen] + np.finfo(gaps.dtype).tiny
        np.maximum(variances, least[:, None], out=variances)
        gaps /= np.sqrt(variances, out=variances)
        gaps.reshape(-1)[few] = exact
        return gaps

    def pairs(self) -> Pairs:
        """Some entries at a time with their z, in thousandths, against themselves and all after them."""
        pairs: Pairs = []
        for start in range(0, len(self.scores), _ROWS_AT_A_TIME):
            rows = slice(start, min(start + _ROWS_AT_A_TIME, len(self.scores)))
            sizes = np.empty((rows.stop - start, len(self.scores) - start), dtype=np.int16)
            for first in range(0, sizes.shape[1], _COLUMNS_AT_A_TIME):
                others = slice(start + first, start + first + _COLUMNS_AT_A_TIME)
                z = self.z(rows, others)
                z *= _PARTS
                sizes[:, first : first + _COLUMNS_AT_A_TIME] = z.clip(-_LARGEST * _PARTS, _LARGEST * _PARTS, out=z)
            pairs.append((rows, sizes))
        return pairs

    def _few_items(self, gaps: NDArray[np.floating], variances: NDArray[np.floating]) -> tuple[Counts, Floats]:
        """The places of pairs that differ on few items, and by how many standard errors they do.

        The variance of a difference is (m - k^2 / n) / n^2, where of m items that one alone has right, k more are the better
        entry's; so it tells m, to the nearest number that k allows.
        """
        if not self.share_items:
            return np.empty(0, dtype=np.int64), np.empty(0)
        near = np.flatnonzero(np.abs(gaps) < (FEW_ITEMS + 1) / self.share_items)
        more = gaps[near] * self.share_items
        differ = variances[near] * self.share_items**2 + more * more / self.share_items
        is_few = differ < FEW_ITEMS + 1
        more, differ = more[is_few], differ[is_few]
        count = np.rint(np.abs(more)).astype(np.int64)
        items = count + 2 * np.maximum(np.rint((differ - count) / 2), 0).astype(np.int64)
        return near[is_few], np.copysign(_mcnemar_table()[items, count], more)


@cache
def _mcnemar_table() -> Floats:
    """The z of McNemar's exact test, by items that differ and by how many more are one's.

    Of m items, (m + k) / 2 are right in the better entry alone; each is as likely to be the other's where both are equal.

    >>> 2 * (1 - NORMAL.cdf(float(_mcnemar_table()[6, 6])))
    0.03125
    """
    size = 2 * FEW_ITEMS
    table = np.zeros((size, size))
    for items in range(1, size):
        ways = np.array([math.comb(items, right) for right in range(items + 1)], dtype=np.float64)
        tail = np.cumsum(ways[::-1])[::-1] / 2.0**items
        for more in range(items % 2 or 2, items + 1, 2):
            table[items, more] = -NORMAL.inv_cdf(min(float(tail[(items + more) // 2]), 0.5))
    return table


def _limit(pairs: Pairs, entries: int, level: float) -> float:
    """The absolute z from which on Holm's procedure over all pairs rejects, to a thousandth.

    Infinite without a pair. Its steps are taken together: with r pairs rejected, all whose p-value is at most alpha / (pairs - r) are.
    """
    reached = np.zeros(_LARGEST * _PARTS + 1)  # pairs by the size of their z
    for rows, z in pairs:
        sizes, within = np.abs(z), rows.stop - rows.start
        reached += np.bincount(sizes[:, within:].ravel(), minlength=len(reached))
        reached += np.bincount(sizes[:, :within].ravel(), minlength=len(reached)) / 2  # each of these pairs comes twice
    beyond = np.cumsum(reached[::-1])[::-1]
    count = left = entries * (entries - 1) // 2
    while left:
        place = math.ceil(NORMAL.inv_cdf(1 - (1 - level) / (2 * left)) * _PARTS)
        now = max(count - round(float(beyond[place])), 1)
        if now == left:
            return place / _PARTS
        left = now
    return math.inf


def _surely_apart(pairs: Pairs, entries: int, limit: float) -> tuple[Counts, Counts]:
    """The number of entries that are surely better, and surely worse, than each."""
    better, worse = (np.zeros(entries, dtype=np.int64) for _ in range(2))
    for rows, z in pairs:
        beats, loses, within = z >= limit * _PARTS, z <= -limit * _PARTS, rows.stop - rows.start
        worse[rows] += beats.sum(axis=1)
        better[rows] += loses.sum(axis=1)
        better[rows.stop :] += beats[:, within:].sum(axis=0)
        worse[rows.stop :] += loses[:, within:].sum(axis=0)
    return better, worse


def _tiers(board: _Board, order: Counts, limit: float) -> Counts:
    tier = np.zeros(len(order), dtype=np.int64)
    left, number = order, 0
    while left.size:
        number += 1
        beaten = board.z(left[:1], left)[0] >= limit
        tier[left[~beaten]] = number
        left = left[beaten]
    return tier


def _beats_above(board: _Board, order: Counts) -> Floats:
    """Share of resamples in which an entry is better than the next better one; a tie counts half."""
    shares = np.full(len(order), math.nan)
    for start in range(1, len(order), _ROWS_AT_A_TIME):
        rows = order[start - 1 : start + _ROWS_AT_A_TIME]
        shares[rows[1:]] = _better_share(np.diff(board.replicates[rows], axis=0))
    return shares


def _better_share(gaps: NDArray[np.floating]) -> Floats:
    """The share of positive gaps in each row; NaN where there is no gap."""
    if not gaps.shape[1]:
        return np.full(len(gaps), math.nan)
    count = np.count_nonzero(gaps > 0, axis=1) + np.count_nonzero(gaps >= 0, axis=1)
    shares: Floats = count / (2 * gaps.shape[1])
    return shares


def _resolution(board: _Board, top: Counts, level: float) -> float:
    """Median half width of the interval of the difference of neighbours at the top."""
    if len(top) < 2 or not board.centred.shape[1]:
        return math.nan
    apart = board.centred[top[1:]].astype(np.float64) - board.centred[top[:-1]]
    return NORMAL.inv_cdf((1 + level) / 2) * float(np.median(np.linalg.norm(apart, axis=1)))


def _corrected(quantile: float, bias: float, acceleration: float) -> float:
    """The share of replicates at which the interval has its end, for a quantile of the normal one."""
    moved = bias + quantile
    return NORMAL.cdf(bias + moved / (1 - acceleration * moved))


def _require_board(scores: NDArray[np.floating], replicates: NDArray[np.floating], level: float) -> None:
    if scores.ndim != 1 or replicates.ndim != 2 or len(scores) != len(replicates) or not len(scores):
        what = f"the shapes are {scores.shape} and {replicates.shape}"
        raise ScoringInputError("wrong_shape", "replicates", what, "give a score and a row of replicates an entry")
    if not 0 < level < 1:
        raise ScoringInputError("bad_parameter", "level", f"it is {level}", "give a number between 0 and 1")

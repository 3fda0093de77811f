"""Replicate scores: a score on seeded resamples of the test items, the same for all entries.

Two entries that met the same resamples can be compared pair by pair, so that what is hard for both cancels. The weight of
an item in a resample is drawn from Poisson(1) by a stream that the name of the test set, the number of the item and that of
the resample decide, and never the entry. A program of one's own writes them by `write`, or leaves the losses of single
items with the site by `write_losses`.

Replicates are as secret as labels: a thousand known views of the losses. The site keeps both files apart from all other
output, and shows neither to anybody.

References: Efron & Tibshirani (1993), "An Introduction to the Bootstrap"; Hanley & MacGibbon (2006), "Creating
non-parametric bootstrap samples using Poisson frequencies", Computer Methods and Programs in Biomedicine 83(1).
"""

import hashlib
import json
import lzma
import math
import os
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.arrays import numeric, require_finite, require_ndim, require_rows
from scoring.errors import ScoringInputError
from scoring.statistics import SampledScore

RESAMPLES: Final = 1000
FEWEST: Final = 200  # below it quantiles of a distribution say too little
REPLICATES_FILE: Final = "replicates.npz"
LOSSES_FILE: Final = "losses.npz"
DESCRIPTION: Final = "podium.json"
SECONDS_VARIABLE: Final = "PODIUM_REPLICATES_S"
TRIALS: Final = "trials"

_AT_A_TIME: Final = 50  # resamples whose weights are drawn together
_ITEMS_AT_A_TIME: Final = 1 << 13  # a block of weights stays in a core's cache
_TRIED: Final = 3  # resamples from which the time of all is foreseen
# A 16-bit number at or above the k-th of these stands for a weight above k.
_THRESHOLDS: Final = np.round(2**16 * np.cumsum([math.exp(-1) / math.factorial(count) for count in range(7)])).astype(
    np.uint16
)

# What numpy and the zip reader raise over a file that is none of theirs, or was cut or changed.
_DAMAGED: Final = (
    OSError,
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    EOFError,
    RuntimeError,
    SyntaxError,
    struct.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Resampling:
    """The resamples of one test set.

    `name` and the number of `items` decide them. `groups`: a code from 0 for each item; groups are drawn whole. `strata`: a
    code from 0 for each item; each stratum keeps its share of the weight.
    """

    name: str
    items: int
    groups: NDArray[np.int64] | None = None
    strata: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name in ("groups", "strata"):
            codes = getattr(self, name)
            if codes is not None and codes.shape != (self.items,):
                what = f"it has the shape {codes.shape}"
                raise ScoringInputError("wrong_shape", name, what, f"give one code for each of {self.items} items")

    @property
    def stream(self) -> str:
        """A short text that two test sets share only where their resamples are the same.

        >>> Resampling("test", 2).stream == Resampling("test", 2).stream != Resampling("test", 3).stream
        True
        """
        digest = hashlib.sha256(f"{self.name}\n{self.items}".encode())
        for codes in (self.groups, self.strata):
            digest.update(b"\n" if codes is None else b"\n" + codes.astype("<i8").tobytes())
        return digest.hexdigest()[:16]

    def weights(self, start: int) -> NDArray[np.uint8]:
        """Draw the items of the `_AT_A_TIME` resamples from `start` on, a multiple of it.

        Array of shape (resamples, items): how often each item is in each resample. Strata are not balanced in it.

        >>> float(Resampling("test", 1000).weights(0).mean().round(1))
        1.0
        """
        if self.groups is None:
            return np.concatenate(list(self._blocks(start, self.items)), axis=1)
        drawn = np.concatenate(list(self._blocks(start, int(self.groups.max()) + 1)), axis=1)
        return drawn[:, self.groups]

    def _blocks(self, start: int, units: int) -> Iterator[NDArray[np.uint8]]:
        """Weights of so many units, a block of them at a time."""
        for first in range(0, units, _ITEMS_AT_A_TIME):
            seed = np.random.SeedSequence([int(self.stream, 16), start, first])
            shape = (_AT_A_TIME, min(_ITEMS_AT_A_TIME, units - first))
            words = np.random.SFC64(seed).random_raw(math.ceil(shape[0] * shape[1] / 4))
            drawn = words.astype("<u8", copy=False).view("<u2")[: shape[0] * shape[1]].reshape(shape)
            weights = np.zeros(shape, dtype=np.uint8)
            reached = np.empty(shape, dtype=np.bool_)
            for threshold in _THRESHOLDS:
                np.greater_equal(drawn, threshold, out=reached)
                np.add(weights, reached.view(np.uint8), out=weights)
            yield weights


@dataclass(frozen=True)
class Replicates:
    """The replicates of one score, and the `Resampling.stream` that they are of, or `TRIALS`.

    `items`: the number of items that were drawn from, 0 where it is not known. `share_items`: the same where the score is
    the share of those that are right; 0 for any other score.
    """

    values: NDArray[np.float32]
    stream: str
    share_items: int = 0
    items: int = 0


Sample = Callable[[], tuple[SampledScore, Resampling]]


@dataclass
class Deadline:
    """So many seconds from its making, as the phase gives them to replicates."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.seconds - (time.monotonic() - self.began)


def count_share_items(sampled: SampledScore, resampling: Resampling) -> int:
    """The number of items of which a score is the share that is right; 0 where it is none.

    Nor is it one where items are not drawn one by one: those of a group are no independent trials.

    >>> half = SampledScore(0.5, 2, np.array([0.0, 1.0]), of_rows=lambda chosen: 0.0)
    >>> count_share_items(half, Resampling("test", 2)), count_share_items(half, Resampling("test", 2, np.zeros(2, dtype=int)))
    (2, 0)
    """
    losses = sampled.losses
    is_plain = resampling.groups is None and resampling.strata is None
    is_share = is_plain and losses is not None and sampled.is_mean and bool(np.isin(losses, (0.0, 1.0)).all())
    return resampling.items if is_share and losses is not None and losses.size == resampling.items else 0


def replicate_scores(
    sampled: SampledScore, resampling: Resampling, *, deadline: Deadline, resamples: int = RESAMPLES
) -> Floats | None:
    """The score on each resample, as many as fit into the time; None where fewer than 200 do.

    A mean over items costs one weighted sum a resample, any other score is computed anew on each. A resample on which the
    metric has no value (one class alone, for instance) counts as NaN; None where most have none.

    Raises `ScoringInputError` (``bad_parameter``) for strata of a score that is not a mean.

    >>> half = SampledScore(0.5, 100, np.array([0.0, 1.0] * 50), of_rows=lambda chosen: 0.0)
    >>> scores = replicate_scores(half, Resampling("test", 100), deadline=Deadline(600))
    >>> scores.shape, round(float(scores.mean()), 1), bool(0.045 < scores.std() < 0.055)
    ((1000,), 0.5, True)
    """
    if sampled.losses is None or sampled.losses.size % sampled.rows:  # rows without a label have no loss
        return _of_rows(sampled, resampling, deadline, resamples)
    sums, sizes = _by_unit(sampled.losses, resampling)
    means: list[Floats] = []
    while len(means) * _AT_A_TIME < resamples and deadline.left > 0:
        means.append(_weighted_means(resampling, len(means) * _AT_A_TIME, sums, sizes))
    scores = np.concatenate(means)[:resamples] if means else np.empty(0)
    return _if_enough(
        scores if sampled.finish is None else np.array([sampled.finish(mean) for mean in scores.tolist()])
    )


def _by_unit(losses: Floats, resampling: Resampling) -> tuple[Floats, Floats]:
    """The sum and number of losses of each drawn unit (item or group), by stratum.

    Arrays of shape (units, strata).
    """
    values = losses.reshape(-1, resampling.items)
    sums, sizes = values.sum(axis=0), np.full(resampling.items, float(len(values)))
    units = np.arange(resampling.items) if resampling.groups is None else resampling.groups
    strata = np.zeros(resampling.items, dtype=np.int64) if resampling.strata is None else resampling.strata
    shape = int(units.max()) + 1, int(strata.max()) + 1
    cells = units * shape[1] + strata

    def add(values: Floats) -> Floats:
        added: Floats = np.bincount(cells, weights=values, minlength=shape[0] * shape[1]).astype(np.float64)
        return added.reshape(shape)

    return add(sums), add(sizes)


def _weighted_means(resampling: Resampling, start: int, sums: Floats, sizes: Floats) -> Floats:
    """Means of some resamples; each stratum has the weight of its items."""
    strata = sums.shape[1]
    both = np.concatenate([sums, sizes], axis=1).astype(np.float32)
    totals = np.zeros((_AT_A_TIME, 2 * strata))
    first = 0
    for block in resampling._blocks(start, len(sums)):
        totals += block.astype(np.float32) @ both[first : first + block.shape[1]]
        first += block.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals[:, :strata] / totals[:, strata:]  # NaN where nothing of a stratum was drawn
    shares = sizes.sum(axis=0) / sizes.sum()
    scores: Floats = means @ shares
    return scores


def _of_rows(sampled: SampledScore, resampling: Resampling, deadline: Deadline, resamples: int) -> Floats | None:
    if resampling.strata is not None:
        what = "the metric is not a mean over items"
        raise ScoringInputError("bad_parameter", "strata", what, "leave strata out or choose such a metric")
    scores: list[float] = []
    places = np.arange(resampling.items)
    began = deadline.left
    for start in range(0, resamples, _AT_A_TIME):
        for weights in resampling.weights(start):
            if deadline.left <= 0:
                return _if_enough(np.array(scores))
            scores.append(_or_nan(sampled, np.repeat(places, weights)))
            too_slow = len(scores) == _TRIED and (began - deadline.left) / _TRIED * FEWEST > began
            if too_slow or (len(scores) == 10 * _TRIED and _if_known(np.array(scores)) is None):
                return None  # it would come to nothing
    return _if_enough(np.array(scores[:resamples]))


def _or_nan(sampled: SampledScore, places: NDArray[np.int64]) -> float:
    try:
        return sampled.of_rows(places)
    except ScoringInputError:
        return math.nan


def trial_replicates(trials: ArrayLike) -> Replicates:
    """Replicates of the mean of independent trials, such as runs with several seeds.

    A sample's own variance is too small by (n - 1) / n, which matters for a handful of trials; it is made up for. The
    stream is of the trials themselves: those of two entries have nothing in common.

    Reference: Efron & Tibshirani (1993), section 5.3, for the factor.

    >>> round(float(trial_replicates([0.4, 0.5, 0.6]).values.std()), 2)
    0.06
    """
    values = _vector(np.asarray(trials, dtype=np.float64), "trials")
    require_finite(values, "trials")
    return Replicates((values.mean() + _trial_errors(values, RESAMPLES)).astype(np.float32), TRIALS)


def _trial_errors(trials: Floats, resamples: int) -> Floats:
    """The error of the trials' mean on resamples of them; nothing for a single trial."""
    count = len(trials)
    seed = int.from_bytes(hashlib.sha256(trials.astype("<f8").tobytes()).digest()[:8], "little")
    drawn = np.random.default_rng(seed).integers(0, count, (resamples, count))
    errors: Floats = (trials[drawn].mean(axis=1) - trials.mean()) * math.sqrt(count / max(count - 1, 1))
    return errors


def _if_enough(scores: Floats) -> Floats | None:
    return _if_known(scores) if len(scores) >= FEWEST else None


def _if_known(scores: Floats) -> Floats | None:
    return scores if np.isfinite(scores).sum() * 2 > len(scores) else None


def write(output: str | os.PathLike[str], replicates: Mapping[str, Replicates]) -> None:
    """Write the replicates of scores, by key of scores.json; nothing where there are none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder, {"mae": Replicates(np.full(200, 0.5, dtype=np.float32), "test")})
    ...     read(Path(folder) / REPLICATES_FILE)["mae"].stream
    'test'
    """
    if not replicates:
        return
    described = {
        key: {"stream": each.stream, "share_items": each.share_items, "items": each.items}
        for key, each in replicates.items()
    }
    arrays: dict[str, object] = {key: each.values.astype(np.float32) for key, each in replicates.items()}
    _write_arrays(Path(output) / REPLICATES_FILE, arrays, {"format": 1, "keys": described})


def write_losses(output: str | os.PathLike[str], losses: Mapping[str, ArrayLike], *, name: str = "") -> None:
    """Write the losses of single items, whose mean is the score under that key.

    The site draws the resamples. The items come in one order for all submissions. Losses of several trials, such as runs
    with other seeds, have the shape (trials, items). `name` tells test sets of one size apart.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_losses(folder, {"mae": [0.5, 0.0]})
    ...     sorted(np.load(Path(folder) / LOSSES_FILE))
    ['mae', 'podium.json']
    """
    arrays: dict[str, object] = {key: np.asarray(values, dtype=np.float32) for key, values in losses.items()}
    _write_arrays(Path(output) / LOSSES_FILE, arrays, {"format": 1, "name": name})


def _write_arrays(path: Path, arrays: dict[str, Any], description: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays[DESCRIPTION] = np.array(json.dumps(description))
    np.savez(path, **arrays)


def read(path: Path) -> dict[str, Replicates]:
    """The replicates in a file, by key. Raises `ScoringInputError` with what is wrong with it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder, {"mae": Replicates(np.full(200, 0.5, dtype=np.float32), "test")})
    ...     read(Path(folder) / REPLICATES_FILE)["mae"].values.shape
    (200,)
    """
    arrays, described = _read_arrays(path)
    keys = described.get("keys", {})
    by_key = {}
    for key, values in arrays.items():
        numbers = _vector(values, key)
        if len(numbers) < FEWEST or len(numbers) > 10 * RESAMPLES:
            what = f"there are {len(numbers)} replicates"
            raise ScoringInputError("wrong_shape", key, what, f"give {FEWEST} to {10 * RESAMPLES}")
        entry = keys.get(key, {}) if isinstance(keys, dict) else {}
        entry = entry if isinstance(entry, dict) else {}
        counts = [_read_count(entry.get(name, 0)) for name in ("share_items", "items")]
        by_key[key] = Replicates(numbers.astype(np.float32), str(entry.get("stream", ""))[:64], *counts)
    return by_key


def _read_count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0


def read_losses(path: Path, *, seconds: float) -> dict[str, tuple[float, Replicates]]:
    """The mean of each array of losses, and its replicates. Raises `ScoringInputError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_losses(folder, {"mae": [0.5, 0.0] * 10})
    ...     mean, replicates = read_losses(Path(folder) / LOSSES_FILE, seconds=10)["mae"]
    ...     mean, replicates.values.shape
    (0.25, (1000,))
    """
    arrays, described = _read_arrays(path)
    by_key = {}
    deadline = Deadline(seconds)
    for key, values in arrays.items():
        by_trial = _by_trial(values, key)
        losses = by_trial.mean(axis=0)
        resampling = Resampling(f"{described.get('name', '')}", len(losses))
        sampled = SampledScore(float(losses.mean()), len(losses), losses, lambda places: math.nan)
        scores = replicate_scores(sampled, resampling, deadline=deadline)
        if scores is not None:
            scores += _trial_errors(by_trial.mean(axis=1), len(scores))
            share_items = count_share_items(sampled, resampling)
            replicates = Replicates(scores.astype(np.float32), resampling.stream, share_items, resampling.items)
            by_key[key] = (sampled.score, replicates)
    return by_key


def _by_trial(values: NDArray[Any], key: str) -> Floats:
    """Losses of shape (trials, items); those of one trial may come as a vector."""
    trials = values if values.ndim == 2 and len(values) else values[None]
    losses: Floats = np.stack([_vector(trial, key) for trial in trials]).astype(np.float64)
    require_finite(losses.ravel(), key)
    return losses


def _vector(values: NDArray[Any], key: str) -> NDArray[Any]:
    numbers = numeric(values, key)
    require_ndim(numbers, key, 1, "a plain list of numbers")
    require_rows(numbers, key)
    return numbers


def _read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, object]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        described = json.loads(str(arrays.pop(DESCRIPTION, np.array("{}"))))
    except _DAMAGED as error:
        right = "write it with scoring.replicates.write"
        raise ScoringInputError("bad_header", path.name, f"it cannot be read ({error})", right) from error
    if not isinstance(described, dict):
        raise ScoringInputError("bad_header", path.name, "its description is not a mapping", "leave it out or give one")
    return arrays, described

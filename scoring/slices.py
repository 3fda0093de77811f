"""Scores of groups of items, such as relation types or sizes of molecules: slices of a test set.

A **slicing** gives each item one label; a slice is the items of one label. `scores_by_slice` scores each of them with an
interval. A program of one's own writes the file by `write`, in its format:

    {"format": 1, "scores": {"mae": {"relation": [{"value": "causes", "items": 120, "score": 0.5, "low": 0.4, "high": 0.6}]}}}

`remarks` beside `scores` say to the organizers what has no slices, and why.

Slices of few items tell labels. The site keeps the file apart from all other output and gives it to nobody.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.arrays import shape_words
from scoring.errors import ScoringInputError
from scoring.replicates import RESAMPLES, Deadline, Resampling, Sample, count_share_items, replicate_scores
from scoring.standings import intervals, wilson
from scoring.statistics import SampledScore

SLICES_FILE: Final = "slices.json"
MAX_BYTES: Final = 256 << 10
MAX_SLICINGS: Final = 10
MAX_SLICES: Final = 50
MAX_REMARKS: Final = 20
FEW_ITEMS: Final = 20  # fewer have no interval

_FORMAT: Final = 1
_LONGEST: Final = 60  # characters of a label or a name
_LONGEST_REMARK: Final = 200
_DIGITS: Final = 9
_RESAMPLES: Final = 400  # of a score that is not a mean: each costs as much as scoring the slice
_LARGEST: Final = 2**53

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Slicing:
    """The labels of the items of a test set: `codes` has for each item the place of its label in `values`."""

    values: tuple[str, ...]
    codes: Places

    @classmethod
    def of(cls, labels: NDArray[Any]) -> "Slicing":
        """The slicing by these labels; of more than 50 the commonest 49 and one for all others.

        Raises `ScoringInputError` (``wrong_shape``, ``wrong_dtype``).

        >>> Slicing.of(np.array([10, 9, 10]))
        Slicing(values=('9', '10'), codes=array([1, 0, 1]))
        """
        if labels.ndim != 1:
            raise ScoringInputError(
                "wrong_shape", "labels", f"they are {shape_words(labels.shape)}", "give one for each item"
            )
        if labels.dtype.kind not in "Uiub":
            raise ScoringInputError("wrong_dtype", "labels", f"they are {labels.dtype}", "give texts or integers")
        values, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        names = [_shown(str(value)) for value in values.tolist()]
        if len(values) <= MAX_SLICES:
            return cls(tuple(names), codes.astype(np.int64))
        common = np.sort(np.argsort(-counts, kind="stable")[: MAX_SLICES - 1])
        places = np.full(len(values), len(common))
        places[common] = np.arange(len(common))
        others = f"other ({len(values) - len(common)} values)"
        return cls((*(names[place] for place in common), others), places[codes])

    def places(self, code: int) -> Places:
        """The items of a slice."""
        return np.flatnonzero(self.codes == code)

    def of_groups(self, groups: Places) -> "Slicing":
        """The slicing of groups of items, in the order of their codes.

        Each belongs to the slice that all its items are in.

        Raises `ScoringInputError` (``bad_parameter``) where the items of a group are in several slices.

        >>> Slicing(("a", "b"), np.array([1, 0, 1])).of_groups(np.array([0, 1, 0])).codes
        array([1, 0])
        """
        _, first, place = np.unique(groups, return_index=True, return_inverse=True)
        codes = self.codes[first]
        mixed = np.flatnonzero(codes[place] != self.codes)
        if mixed.size:
            count = len(np.unique(groups[mixed]))
            what = f"{count} of {len(first)} groups {'has' if count == 1 else 'have'} items in several slices"
            raise ScoringInputError("bad_parameter", "slices", what, "give all items of a group one value")
        return Slicing(self.values, codes)


@dataclass(frozen=True)
class Slice:
    """The score of the items of one label, and the ends of its 95 % interval.

    No score where the metric has no value there, no ends of fewer than 20 items or where time was short.
    """

    value: str
    items: int
    score: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Scored:
    """The scores that a scoring program gives, by key, and the makings of their replicates and slices.

    `sampled` gives each score as a function of its rows, with their resamples, when it is called. `trials` are results of
    independent runs whose mean is the score. `slicings` of these rows, by name. `unsliced`: what has none, and why.
    """

    scores: dict[str, float]
    sampled: Mapping[str, Sample] = field(default_factory=dict)
    trials: Mapping[str, Sequence[float]] = field(default_factory=dict)
    slicings: Mapping[str, Mapping[str, Slicing]] = field(default_factory=dict)
    unsliced: Sequence[str] = ()


Slices = dict[str, dict[str, list[Slice]]]
"""By key of a score, then by name of a slicing."""


@dataclass(frozen=True)
class SlicesFile:
    """The content of a file: the slices, and remarks for the organizers on what has none."""

    scores: Slices
    remarks: tuple[str, ...] = ()


def _shown(label: str, longest: int = _LONGEST) -> str:
    """A label on one line, not too long.

    >>> _shown("a\\nb"), _shown("")
    ('a b', '(empty)')
    """
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in label).split())
    return plain[:longest] or "(empty)"


def scores_by_slice(
    samples: Mapping[str, tuple[SampledScore, Resampling]],
    slicings: Mapping[str, Mapping[str, Slicing]],
    deadline: Deadline,
) -> Slices:
    """Score every slice of the scores in `samples`, then make as many intervals as fit into the time.

    A slicing for whose scores there is no time is left out.

    >>> right = np.array([1.0, 0.0, 1.0])
    >>> sampled = SampledScore(2 / 3, 3, right, lambda places: float(right[places].mean()))
    >>> slicing = Slicing.of(np.array(["b", "a", "b"]))
    >>> scores_by_slice({"acc": (sampled, Resampling("test", 3))}, {"acc": {"by": slicing}}, Deadline(600))["acc"]["by"]
    [Slice(value='a', items=1, score=0.0, low=None, high=None), Slice(value='b', items=2, score=1.0, low=None, high=None)]
    """
    by_key: Slices = {key: {} for key in samples}
    for key, (sampled, _) in samples.items():
        for name, slicing in slicings[key].items():
            slices = _scores(sampled, slicing, deadline)
            if slices is not None:
                by_key[key][name] = slices
    waiting = [(key, name, code) for key in by_key for name, some in by_key[key].items() for code in range(len(some))]
    for left, (key, name, code) in zip(range(len(waiting), 0, -1), waiting, strict=True):
        each, places = by_key[key][name][code], slicings[key][name].places(code)
        if each.score is not None and each.items >= FEW_ITEMS and deadline.left > 0:
            ends = _interval(each.score, *samples[key], places, f"{name}/{code}", Deadline(deadline.left / left))
            by_key[key][name][code] = replace(each, low=ends[0], high=ends[1]) if ends else each
    return {key: by_name for key, by_name in by_key.items() if by_name}


def _scores(sampled: SampledScore, slicing: Slicing, deadline: Deadline) -> list[Slice] | None:
    """The scores of all slices; None where the time was over before."""
    slices = []
    for code, value in enumerate(slicing.values):
        if deadline.left <= 0:
            return None
        places = slicing.places(code)
        slices.append(Slice(value, len(places), _score(sampled, places)))
    return slices


def _score(sampled: SampledScore, places: Places) -> float | None:
    try:
        score = sampled.of_rows(places)
    except ScoringInputError:
        return None
    return score if math.isfinite(score) else None


def _interval(
    score: float, sampled: SampledScore, resampling: Resampling, places: Places, name: str, deadline: Deadline
) -> tuple[float, float] | None:
    part = replace(sampled.moved(places), score=score, rows=len(places))
    drawn = Resampling(
        f"{resampling.name}/{name}", len(places), _codes(resampling.groups, places), _codes(resampling.strata, places)
    )
    if drawn.groups is not None and int(drawn.groups.max()) + 1 < FEW_ITEMS:
        return None
    if share_items := count_share_items(part, drawn):
        return wilson(score, share_items)
    count = RESAMPLES if part.losses is not None else _RESAMPLES
    try:
        replicates = replicate_scores(part, drawn, deadline=deadline, resamples=count)
    except ScoringInputError:  # strata of a score that is not a mean
        return None
    if replicates is None:
        return None
    low, high = intervals(np.array([score]), replicates[None])
    return (float(low[0]), float(high[0])) if low[0] < high[0] else None  # all resamples agree: they say nothing


def _codes(codes: Places | None, places: Places) -> Places | None:
    """The codes of some items, again from 0 on without a gap."""
    return None if codes is None else np.unique(codes[places], return_inverse=True)[1].astype(np.int64)


def write(
    output: str | os.PathLike[str], slices: Mapping[str, Mapping[str, Sequence[Slice]]], remarks: Sequence[str] = ()
) -> list[str]:
    """Write slices, as many slicings as 256 KiB hold, and remarks; returns the others by name.

    There is no file where there is nothing to write.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(folder, {"mae": {"size": [Slice("small", 30, 0.5, 0.4, 0.6)]}})
    ...     read((Path(folder) / SLICES_FILE).read_bytes()).scores["mae"]["size"]
    [Slice(value='small', items=30, score=0.5, low=0.4, high=0.6)]
    """
    written: dict[str, dict[str, list[dict[str, object]]]] = {}
    shown = [_shown(remark, _LONGEST_REMARK) for remark in remarks[:MAX_REMARKS]]
    left_out, size = [], len(json.dumps(_document({}, shown))) + 1
    for key, by_name in slices.items():
        size += len(json.dumps({key: {}}))
        for name, some in by_name.items():
            rows = [_as_json(each) for each in some]
            added = len(json.dumps({_shown(name): rows}))
            if size + added > MAX_BYTES:
                left_out.append(f"{key} by {name}")
                continue
            size += added
            written.setdefault(key, {})[_shown(name)] = rows
    if written or shown:
        path = Path(output) / SLICES_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_document(written, shown), allow_nan=False) + "\n", "utf-8")
    return left_out


def _document(scores: Mapping[str, object], remarks: Sequence[str]) -> dict[str, object]:
    return {"format": _FORMAT, "scores": scores, **({"remarks": remarks} if remarks else {})}


def _as_json(each: Slice) -> dict[str, object]:
    """Plain values, numbers with nine digits."""
    plain = {name: value for name, value in asdict(each).items() if value is not None}
    return {name: float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value for name, value in plain.items()}


def read(content: bytes) -> SlicesFile:
    """The slices and remarks in a file. Raises `ScoringInputError` (``bad_json``, ``too_large``).

    >>> read(b'{"format": 1, "scores": {"mae": {"size": [{"value": "small", "items": 3}]}}}').scores["mae"]["size"]
    [Slice(value='small', items=3, score=None, low=None, high=None)]
    """
    if len(content) > MAX_BYTES:
        raise ScoringInputError("too_large", SLICES_FILE, f"it has {len(content)} bytes", f"at most {MAX_BYTES}")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _bad("it is not a JSON document") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _bad(f"it is not of format {_FORMAT}")
    scores = {
        key: {_text(name): [_slice(each) for each in _list(some)] for name, some in _mapping(by_name).items()}
        for key, by_name in _mapping(document.get("scores"), limit=len(content)).items()
    }
    remarks = _list(document.get("remarks", []), most=MAX_REMARKS)
    return SlicesFile(scores, tuple(_text(remark, _LONGEST_REMARK) for remark in remarks))


def _bad(what: str) -> ScoringInputError:
    return ScoringInputError("bad_json", SLICES_FILE, what, "write it with scoring.slices.write")


def _mapping(value: object, limit: int = MAX_SLICINGS) -> dict[str, object]:
    if not isinstance(value, dict) or len(value) > limit:
        raise _bad(f"slices of a score are no mapping of at most {limit} slicings")
    return value


def _list(value: object, most: int = MAX_SLICES) -> list[object]:
    if not isinstance(value, list) or len(value) > most:
        raise _bad(f"slices or remarks are no list of at most {most}")
    return value


def _text(value: object, longest: int = _LONGEST) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():
        raise _bad(f"a name or a remark is not text of one line with at most {longest} characters")
    return value


def _slice(value: object) -> Slice:
    if not isinstance(value, dict) or set(value) - {"value", "items", "score", "low", "high"}:
        raise _bad("a slice is not a mapping with value, items, score, low, high")
    items = value.get("items")
    if isinstance(items, bool) or not isinstance(items, int) or not 0 < items < _LARGEST:
        raise _bad("the items of a slice are no number of them")
    score, low, high = (_number(value.get(name)) for name in ("score", "low", "high"))
    if (low is None) != (high is None) or (low is not None and high is not None and low > high):
        raise _bad("the ends of an interval are out of order")
    return Slice(_text(value.get("value")), items, score, low, high)


def _number(value: object) -> float | None:
    """A finite number; None where there is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
        raise _bad("a score is not a finite number")
    try:
        return float(value)
    except OverflowError as error:
        raise _bad("a score is not a finite number") from error

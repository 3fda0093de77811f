"""A track: one dataset of a challenge with its phases, its rules and its generated data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Size = Literal["small", "true"]
CheckKind = Literal["permuted", "perturbed", "held_out"]


@dataclass(frozen=True)
class Check:
    """Further input for a winner's code, and its labels, which the code never sees.

    rows
        The row of the phase's input for each row; None for the same order, and for a held-out part.
    tolerance
        The largest mean distance of predictions from those on the phase's input; how much worse a score may be is computed.
    """

    split: str
    kind: CheckKind
    inputs: Arrays
    labels: Arrays
    rows: npt.NDArray[np.int64] | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class MiniSplit:
    """A few items with their answers, all of it public: what code runs on before it sees a test split."""

    inputs: Arrays
    labels: Arrays

    @property
    def rows(self) -> int:
        """Number of items."""
        return len(next(iter(self.labels.values())))


@dataclass(frozen=True)
class Data:
    """The data that a generator makes.

    public
        File name (.npz) to its arrays: training data and the queries of the test splits, without answers.
    labels
        Split to the arrays that the evaluator calls reference.
    checks
        Input for the verification of winners' code.
    mini
        Input that code runs on first, where the track takes code.
    slices
        Split to lists of labels, one for each item, whose values get scores of their own.
    """

    public: Mapping[str, Arrays]
    labels: Mapping[str, Arrays]
    checks: tuple[Check, ...] = ()
    mini: MiniSplit | None = None
    slices: Mapping[str, Arrays] = field(default_factory=dict)


@dataclass(frozen=True)
class TrackPhase:
    """One phase: the split that it scores, and what differs from the others."""

    split: str
    description: str
    visibility: Literal["public", "sealed"] = "public"
    rule: str = "Force_Best"  # of Codabench: which of a team's submissions counts
    per_day: int | None = None
    per_week: int | None = None
    preset: str | None = None


@dataclass(frozen=True)
class BoardColumn:
    """One column of the boards; `key` is the evaluator's."""

    key: str
    title: str
    sorting: Literal["asc", "desc"] = "desc"
    unit: str = ""
    spread: str = ""  # key of the column that holds its standard deviation, where there is one
    is_hidden: bool = False


@dataclass(frozen=True)
class Question:
    """A question to teams or submissions. A public one is shown with the result."""

    key: str
    title: str
    kind: Literal["text", "checkbox", "repository"] = "text"
    is_required: bool = True
    is_public: bool = False
    is_on_board: bool = False


@dataclass(frozen=True)
class Track:
    """Everything about a track but its dates.

    generate
        (size, seed) to the data; the small size takes a second, the true one has the official number of test items.
    baseline
        A program of the starting kit, called with the folder of the public data and a folder to write into.
    program
        Folder of the scoring program, below `scoring/programs`.
    """

    slug: str
    title: str
    subtitle: str
    dataset: str
    program: str
    columns: tuple[BoardColumn, ...]
    phases: tuple[TrackPhase, ...]
    folder: Path
    generate: Callable[[Size, int], Data]
    baseline: Path
    rows: Mapping[str, int] = field(default_factory=dict)  # true number of test items a split
    registration: tuple[Question, ...] = ()
    fact_sheet: tuple[Question, ...] = ()
    has_official_file: bool = True  # False: the upload is a zip that the scoring program reads
    takes_code: bool = False  # the phases also run code, on the public file of their split


def permuted(split: str, inputs: Arrays, labels: Arrays, seed: int) -> Check:
    """The same input with its rows in another order, which predictions have to follow."""
    count = len(next(iter(inputs.values())))
    rows = generator(seed, "permuted", split).permutation(count)
    moved, followed = ({name: array[rows] for name, array in arrays.items()} for arrays in (inputs, labels))
    return Check(split, "permuted", moved, followed, rows=rows)


def generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for each part of the data, so that one part's size does not change another."""
    return np.random.default_rng([seed, *(sum(name.encode()) for name in names)])

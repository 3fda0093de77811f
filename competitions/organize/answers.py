"""Cleaned answers to the guided path's questions, and facts of the tables and datasets they name."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, NotRequired, TypedDict

from scoring.benchmarks.datasets import Description
from scoring.tables.previews import PreviewDocument


class About(TypedDict):
    title: str
    subtitle: str
    host: str
    reward: str
    tags: str


class Schedule(TypedDict):
    opens_at: datetime
    closes_at: datetime
    max_submissions_per_day: int
    max_team_size: int


class Columns(TypedDict):
    id_column: str
    targets: list[str]
    weight: str
    group: str
    slices: str
    descriptions: str


class MetricChoice(TypedDict):
    """`metric` is a name of the catalogue or `own`; `parameters` are those that differ from defaults.

    `more` has the parameters of further metrics of the board.
    """

    metric: str
    own_title: str
    own_direction: str
    parameters: dict[str, object]
    more: dict[str, dict[str, object]]


class Predictions(TypedDict):
    """The sample submission's column for each that is predicted."""

    columns: dict[str, str]


class Split(TypedDict):
    """`column` is that of the solution which names the parts, where it has one.

    By time, rows of the column `time` before `cut`, in UTC as an ISO text, are public.
    """

    how: Literal["column", "random", "stratified", "grouped", "time", "none"]
    percent: int
    by: str
    seed: int
    column: str | None
    time: str
    cut: str


class DatasetChoice(TypedDict):
    dataset: str


class Program(TypedDict):
    docker_image: str
    minutes: int
    memory_gib: int
    cpus: int
    gpus: int
    score: str
    sorting: str


class ScoreOnScale(TypedDict):
    """The scores of the best constant and of a perfect prediction under one key; None where there is none."""

    key: str
    constant: float | None
    perfect: float | None


class MetricFacts(TypedDict):
    """A metric with the key of its score. `direction` is `min` or `max`."""

    name: str
    key: str
    title: str
    direction: str
    unit: str
    parameters: dict[str, object]


class DatasetColumn(TypedDict):
    key: str
    sorting: str
    unit: str


class DatasetFacts(Description):
    """A known dataset. `split` is the one to predict, with its rows; None where teams send results."""

    split: str | None
    rows: int | None
    columns: list[DatasetColumn]


class Solution(PreviewDocument):
    """A recognised table; `shapes` are the counts of each column's values or ranges.

    `instants` has the quantiles of each column of dates, from the first to the last, as ISO texts.
    """

    shapes: dict[str, list[tuple[str, int]]]
    instants: NotRequired[dict[str, list[str]]]


class SolutionFacts(TypedDict):
    """Rows that differ between a new solution and the one in force; `ids` are the first of them.

    `columns` counts by column; `moved` rows change their part, `left_out` ones count no more.
    """

    rows: int
    differ: int
    ids: list[str]
    columns: dict[str, int]
    moved: int
    left_out: int


class ReferenceMetric(TypedDict):
    name: str
    key: str
    parameters: dict[str, object]


class Plan(TypedDict):
    """All that the files of a table competition are written from; `files` are path and name by role.

    `columns` are the sample submission's by what they answer; None where names alone decide.
    """

    files: dict[str, list[str]]
    metrics: list[ReferenceMetric]
    columns: dict[str, str] | None
    id_column: str
    targets: list[str]
    weight: str | None
    group: str | None
    slices: list[str]
    split: Split


Values = Mapping[str, object]

# Names of the files that the guided path writes for a table.
SAMPLE_ROLE: Final = "sample_submission"
SAMPLE: Final = "sample_submission.csv"
BASELINE: Final = "constant_baseline.csv"

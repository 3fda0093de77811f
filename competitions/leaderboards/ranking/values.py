"""A submission's values by column: scores over its tasks, measurements and computed values."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from competitions.catalog.models import Column
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.states import Reason, State

Values = dict[str, float]

COMPUTE: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    Column.Computation.AVG: statistics.fmean,
    Column.Computation.SUM: math.fsum,
    Column.Computation.MIN: min,
    Column.Computation.MAX: max,
}


def task_key(key: str, task_id: int) -> str:
    """The key of a task's own value in a row's values, beside the value over all tasks."""
    return f"{key}@{task_id}"


FAILED: Final = "failed"  # `failed@task`: why there is no score on a dataset


def column_values(submission: Submission, columns: Sequence[Column], *, each_task: bool = False) -> Values:
    """Finite values by column; missing or too large ones, and what is computed from them, left out.

    A score is averaged over the submission's tasks, and kept for each task too if there are several or with
    `each_task`. Runs that fill a board are in `dataset_values`; a smoke run is not a score.
    """
    runs = [run for run in submission.runs.all() if not (run.fills_board or run.is_smoke)]
    values: Values = {}
    for column in columns:
        numbers = _by_task(column, columns, runs)
        if numbers is None:
            continue
        if (value := _over_tasks(column, numbers)) is not None:
            values[column.key] = value
        if column.kind == Column.Kind.SCORE and (each_task or len(runs) > 1):
            values |= {task_key(column.key, run.task_id): number for run, number in zip(runs, numbers, strict=True)}
    return values


def dataset_values(submission: Submission, columns: Sequence[Column]) -> dict[str, object]:
    """The submission's results on submitted datasets: `key@task` to score, `failed@task` to reason."""
    values: dict[str, object] = {}
    for run in submission.runs.all():
        if run.fills_board and run.state == State.FAILED:
            values[task_key(FAILED, run.task_id)] = run.reason
        elif run.fills_board and run.state == State.FINISHED:
            scores = {
                column.key: _finite([run.scores.get(column.key)])
                for column in columns
                if column.kind == Column.Kind.SCORE
            }
            values |= {task_key(key, run.task_id): numbers[0] for key, numbers in scores.items() if numbers}
            if not all(scores.values()):
                values[task_key(FAILED, run.task_id)] = str(Reason.SCORING_ERROR)
    return values


def _over_tasks(column: Column, numbers: list[float]) -> float | None:
    """The value of finite numbers; None if their sum is too large for a float.

    `fsum` and `fmean` would raise.
    """
    try:
        return float(_reduction(column)(numbers))
    except OverflowError:
        return None


def meter_value(key: str, runs: Iterable[Run]) -> float | None:
    """A meter over the runs that have it: times add up, peaks do not. None without any."""
    numbers = [number for run in runs if run.meters.get(key) is not None for number in _finite([run.meters[key]]) or ()]
    return float(_meter_reduction(key)(numbers)) if numbers else None


def _meter_reduction(key: str) -> Callable[[Iterable[float]], float]:
    return math.fsum if key.endswith("_s") else max


def _reduction(column: Column) -> Callable[[Sequence[float]], float]:
    if column.kind == Column.Kind.COMPUTED:
        return COMPUTE[column.computation]
    if column.kind == Column.Kind.METER:
        return _meter_reduction(column.key)
    return statistics.fmean


def _by_task(
    column: Column, columns: Sequence[Column], runs: list[Run], above: frozenset[str] = frozenset()
) -> list[float] | None:
    """The numbers behind a column's value; None if one is missing, not finite or too large.

    A computed column takes its sources' numbers of every task, so that an average weighs all of them alike.
    """
    if column.is_relative or column.key in above or not runs:  # a circle of columns has no value
        return None
    if column.kind != Column.Kind.COMPUTED:
        return _finite(
            run.scores.get(column.key) if column.kind == Column.Kind.SCORE else run.meters.get(column.key)
            for run in runs
        )
    known = {source.key: source for source in columns}
    numbers: list[float] = []
    for key in column.sources:
        source_numbers = _by_task(known[key], columns, runs, above | {column.key}) if key in known else None
        if source_numbers is None:
            return None
        if known[key].kind == Column.Kind.COMPUTED:
            value = _over_tasks(known[key], source_numbers)
            if value is None:
                return None
            source_numbers = [value]
        numbers += source_numbers
    return numbers


def _finite(values: Iterable[Any]) -> list[float] | None:
    numbers = list(values)
    usable = all(
        isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number) for number in numbers
    )
    return [float(number) for number in numbers] if numbers and usable else None


def primary_column(columns: Sequence[Column]) -> Column | None:
    """The column that decides the rank: the marked one, else the first."""
    return next((column for column in columns if column.is_primary), columns[0] if columns else None)


def further_columns(columns: Sequence[Column]) -> list[Column]:
    """The columns in their order that tell apart what is equal in the primary one.

    Hidden columns take no part, because the order would tell their values, nor do average ranks, which change with other
    rows.
    """
    primary = primary_column(columns)
    return [column for column in columns if column != primary and not column.is_hidden and not column.is_relative]


def deciding_column(columns: Sequence[Column]) -> Column | None:
    """The column by which a team's own submissions are compared: the primary one.

    An average rank needs the other teams, so there it is the first column that the ranks are taken of.
    """
    primary = primary_column(columns)
    if primary is None or not primary.is_relative:
        return primary
    return next((column for column in columns if column.key in primary.sources and not column.is_relative), None)

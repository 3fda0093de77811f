"""Columns of a board's page and exports: its own, those of tasks or datasets, and fact sheet answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import F, Q

from competitions.catalog.models import Column, Leaderboard, Phase, Task
from competitions.leaderboards.ranking.fact_columns import FactColumn, fact_columns
from competitions.leaderboards.ranking.values import FAILED, primary_column, task_key
from competitions.leaderboards.reading.board import UnknownSort
from competitions.submissions.models import Dataset
from competitions.submissions.states import NOT_RUN


@dataclass(frozen=True)
class TaskColumn:
    """A score column for one task of several; templates and exports take it for a column."""

    column: Column
    task_id: int
    title: str

    @property
    def key(self) -> str:
        return task_key(self.column.key, self.task_id)

    is_sortable = True
    is_link = False

    @property
    def unit(self) -> str:
        return self.column.unit

    @property
    def sorting(self) -> str:
        return self.column.sorting

    def get_sorting_display(self) -> str:
        return self.column.get_sorting_display()

    def shown_in(self, values: Mapping[str, Any]) -> str | None:
        if self.key not in values:
            return None
        spread_key = self.column.spread_key
        return self.column.shown_with(
            values[self.key], values.get(task_key(spread_key, self.task_id)) if spread_key else None
        )


class CellState(StrEnum):
    """The state of an algorithm on a dataset."""

    SCORED = "scored"
    FAILED = "failed"  # behind all that have a score
    NOT_RUN = "not_run"  # by no fault of the team: it is to be run again
    WAITING = "waiting"  # or running


@dataclass(frozen=True)
class DatasetColumn(TaskColumn):
    """A score column for one submitted dataset."""

    dataset: Dataset

    @property
    def unit(self) -> str:
        """It stands at the column over the organizers' datasets, and is said once."""
        return ""

    @property
    def heading(self) -> str:
        """The column's name in a file: its key and the dataset's name, which another dataset may have too."""
        return f"{self.key} {self.dataset.name}"

    def state_in(self, values: Mapping[str, object]) -> CellState:
        if self.key in values:
            return CellState.SCORED
        reason = self.reason_in(values)
        if not reason:
            return CellState.WAITING
        return CellState.NOT_RUN if reason in NOT_RUN else CellState.FAILED

    def reason_in(self, values: Mapping[str, object]) -> str:
        """The reason for which there is no score; empty while one may still come."""
        return str(values.get(task_key(FAILED, self.task_id), ""))


ShownColumn = Column | TaskColumn | DatasetColumn | FactColumn


def page_columns(board: Leaderboard, columns: list[Column], *, has_facts: bool = True) -> list[ShownColumn]:
    """Columns of the page and exports: the board's, then scores by task, then fact sheet answers.

    A board that grows shows the phase's own datasets, then the submitted ones. `has_facts=False` leaves the
    answers out.
    """
    facts = fact_columns(board.phase) if has_facts else []
    if board.phase.grows:
        return [*columns, *facts, *_dataset_columns(board, columns)]
    tasks = list(board.phase.tasks.all()) if board.shows_tasks else []
    if len(tasks) < 2:
        return [*columns, *facts]
    shown: list[ShownColumn] = []
    for column in columns:
        shown.append(column)
        if column.kind == Column.Kind.SCORE:
            shown += [TaskColumn(column, task.pk, f"{column.title}: {task.name}") for task in tasks]
    return [*shown, *facts]


def read_sort(board: Leaderboard, shown: Sequence[ShownColumn], sort: str) -> str:
    """The column to sort by; empty for the board's own order. Raises `UnknownSort`."""
    if sort and sort not in {column.key for column in shown if column.is_sortable}:
        raise UnknownSort(sort)
    primary = primary_column(list(board.columns.all())) if sort else None
    return "" if primary is not None and sort == primary.key else sort


def _dataset_columns(board: Leaderboard, columns: list[Column]) -> list[ShownColumn]:
    """Each score on each of the phase's tasks, then on each submitted dataset, oldest first."""
    scores = [column for column in columns if column.kind == Column.Kind.SCORE]

    def title(name: str, column: Column) -> str:
        return name if len(scores) == 1 else f"{name}: {column.title}"

    shown: list[ShownColumn] = []
    for task, dataset in _shown_tasks(board.phase):
        if dataset is None:
            shown += [TaskColumn(column, task.pk, title(task.name, column)) for column in scores]
        else:
            shown += [DatasetColumn(column, task.pk, title(dataset.name, column), dataset) for column in scores]
    return shown


def _shown_tasks(phase: Phase) -> list[tuple[Task, Dataset | None]]:
    """The phase's own tasks, then those of the datasets on its board with these, oldest first; one query."""
    own, submitted = phase.tasks.values("pk"), Dataset.objects.on_board(phase).values("task")
    rows = Task.objects.filter(Q(pk__in=own) | Q(pk__in=submitted)).select_related("dataset__submission__team")
    ordered = rows.order_by(F("dataset__joined_at").asc(nulls_first=True), "pk")
    return [(task, getattr(task, "dataset", None)) for task in ordered]


def shown_values(columns: Sequence[ShownColumn], values: Mapping[str, Any]) -> list[str | None]:
    """A row's values as shown, in the order of the columns; None where there is none."""
    return [column.shown_in(values) for column in columns]


def dataset_names(columns: Sequence[ShownColumn]) -> list[str]:
    """Names of the submitted datasets among these columns, each once."""
    names = {column.task_id: column.dataset.name for column in columns if isinstance(column, DatasetColumn)}
    return list(names.values())


DATASETS_PER_PAGE = 20


@dataclass(frozen=True)
class DatasetPages:
    """The datasets of a growing board that a page shows: `first` to `last` of `count`, from 1."""

    number: int
    first: int
    last: int
    count: int

    @property
    def previous(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def next(self) -> int | None:
        return self.number + 1 if self.last < self.count else None


def without_repeats(columns: list[ShownColumn]) -> list[ShownColumn]:
    """The columns without that of a growing board's one own task, whose scores are the board's."""
    own = {column.task_id for column in columns if type(column) is TaskColumn}
    has_datasets = any(isinstance(column, DatasetColumn) for column in columns)
    if not has_datasets or len(own) != 1:
        return columns
    return [column for column in columns if type(column) is not TaskColumn]


def datasets_page(columns: list[ShownColumn], number: int) -> tuple[list[ShownColumn], DatasetPages | None]:
    """The columns of one page of datasets, and which they are; all of them, and None, where there are few.

    A number beyond the last page is the last page.
    """
    tasks = list(dict.fromkeys(column.task_id for column in columns if isinstance(column, DatasetColumn)))
    if len(tasks) <= DATASETS_PER_PAGE:
        return columns, None
    number = max(1, min(number, -(-len(tasks) // DATASETS_PER_PAGE)))
    first = (number - 1) * DATASETS_PER_PAGE
    chosen = tasks[first : first + DATASETS_PER_PAGE]
    shown = [column for column in columns if not isinstance(column, DatasetColumn) or column.task_id in chosen]
    return shown, DatasetPages(number, first + 1, first + len(chosen), len(tasks))

"""Columns that depend on other rows: the average rank over columns or datasets."""

import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Cell, Entry
from competitions.leaderboards.ranking.entries import sort_cell
from competitions.leaderboards.ranking.values import primary_column, task_key
from competitions.submissions.models import Dataset


@dataclass(frozen=True)
class Place:
    """A ranking of the rows by the value under `key`, in the order of `column`, without team `without`."""

    column: Column
    key: str
    without: int | None = None


def averaged_places(board: Leaderboard, sources: Sequence[Column]) -> list[Place]:
    """Rankings to average: one for each column; on a board that grows, for each column and dataset.

    The datasets are the phase's own tasks and the submitted ones that count. A team's own do not count for itself: it
    knows the labels.
    """
    if not board.phase.grows:
        return [Place(column, column.key) for column in sources]
    own = [(task, None) for task in board.phase.tasks.order_by("pk").values_list("pk", flat=True)]
    counting = Dataset.objects.on_board(board.phase).filter(counts_from__isnull=False)
    submitted = [(dataset.task_id, dataset.submission.team_id) for dataset in counting]
    return [Place(column, task_key(column.key, task), team) for column in sources for task, team in [*own, *submitted]]


def ranks(values: Sequence[float | None]) -> list[float]:
    """Each value's rank, smaller is better: one more than the number of better ones; missing ones last.

    >>> ranks([0.2, 0.1, None, 0.2])
    [2.0, 1.0, 4.0, 2.0]
    """
    known = sorted(value for value in values if value is not None)
    return [_rank_among(known, value) for value in values]


def _rank_among(known: Sequence[float], value: float | None) -> float:
    return float(1 + (len(known) if value is None else bisect_left(known, value)))


def average_ranks_refresh(board: Leaderboard, columns: list[Column]) -> None:
    """Write the average ranks of all rows again, if the board has such a column.

    The board's lock must be held. Each update passes over the whole board: meant for hundreds of rows, not a hundred
    thousand. Baselines get the rank they would have, without taking anyone's.
    """
    for column in columns:
        if column.is_relative:
            _refresh(board, column, columns)


def _refresh(board: Leaderboard, column: Column, columns: list[Column]) -> None:
    entries = list(Entry.objects.filter(leaderboard=board))
    places = averaged_places(
        board, [source for source in columns if source.key in column.sources and not source.is_relative]
    )
    is_primary = column == primary_column(columns)
    changed = []
    for entry, average in zip(entries, _averages(entries, places), strict=True):
        if average is not None and entry.values.get(column.key) != average:
            entry.values = entry.values | {column.key: average}
            entry.rank_value = column.rank_value(average) if is_primary else entry.rank_value
            changed.append(entry)
    Entry.objects.bulk_update(changed, ["values", "rank_value"], batch_size=500)
    if not is_primary:
        Cell.objects.filter(entry__in=changed, key=column.key).delete()
        Cell.objects.bulk_create(sort_cell(entry, column.key, column.rank_value) for entry in changed)


def _averages(entries: list[Entry], places: Sequence[Place]) -> list[float | None]:
    by_place = [_place_ranks(entries, place) for place in places]
    averages: list[float | None] = []
    for of_entry in zip(*by_place, strict=True) if by_place else [() for _ in entries]:
        numbers = [rank for rank in of_entry if rank is not None]
        averages.append(statistics.fmean(numbers) if numbers else None)
    return averages


def _place_ranks(entries: list[Entry], place: Place) -> list[float | None]:
    """Each row's rank: None for a row that takes no part, last for one without a value."""
    values = [
        place.column.rank_value(entry.values[place.key]) if place.key in entry.values else None for entry in entries
    ]
    takes_part = [entry.team_id != place.without for entry in entries]
    known = sorted(
        value
        for entry, value, part in zip(entries, values, takes_part, strict=True)
        if value is not None and part and not entry.is_baseline
    )
    return [_rank_among(known, value) if part else None for value, part in zip(values, takes_part, strict=True)]

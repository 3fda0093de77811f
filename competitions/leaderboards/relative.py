"""Columns whose value depends on the other rows: the average rank over several columns."""

import statistics
from collections.abc import Sequence

from competitions.leaderboards.cells import cell_of
from competitions.leaderboards.models import Cell, Column, Entry, Leaderboard
from competitions.leaderboards.values import primary_column


def ranks(values: Sequence[float | None]) -> list[float]:
    """Each value's rank, smaller is better: one more than the number of better ones; a missing value is behind all.

    >>> ranks([0.2, 0.1, None, 0.2])
    [2.0, 1.0, 4.0, 2.0]
    """
    known = sorted(value for value in values if value is not None)
    first = {value: float(place) for place, value in reversed(list(enumerate(known, start=1)))}
    return [float(len(known) + 1) if value is None else first[value] for value in values]


def average_ranks_refresh(board: Leaderboard, columns: list[Column]) -> None:
    """Write the average ranks of all rows anew, where the board has such a column. The board's lock must be held.

    One pass over the board for each update: meant for benchmarks of hundreds of rows, not for a hundred thousand.
    Baselines are given the rank that they would have, and take none from anybody.
    """
    for column in columns:
        if column.is_relative:
            _refresh(board, column, columns)


def _refresh(board: Leaderboard, column: Column, columns: list[Column]) -> None:
    entries = list(Entry.objects.filter(leaderboard=board))
    sources = [one for one in columns if one.key in column.sources and not one.is_relative]
    is_primary = column == primary_column(columns)
    changed = []
    for entry, average in zip(entries, _averages(entries, sources), strict=True):
        if average is not None and entry.values.get(column.key) != average:
            entry.values = entry.values | {column.key: average}
            entry.rank_value = column.rank_value(average) if is_primary else entry.rank_value
            changed.append(entry)
    Entry.objects.bulk_update(changed, ["values", "rank_value"], batch_size=500)
    if not is_primary:
        Cell.objects.filter(entry__in=changed, key=column.key).delete()
        Cell.objects.bulk_create(cell_of(entry, column.key, column.rank_value) for entry in changed)


def _averages(entries: list[Entry], sources: list[Column]) -> list[float | None]:
    if not sources:
        return [None] * len(entries)
    by_column = [_column_ranks(entries, source) for source in sources]
    return [statistics.fmean(places) for places in zip(*by_column, strict=True)]


def _column_ranks(entries: list[Entry], column: Column) -> list[float]:
    values = [column.rank_value(entry.values[column.key]) if column.key in entry.values else None for entry in entries]
    ranked = [value for entry, value in zip(entries, values, strict=True) if not entry.is_baseline]
    teams = iter(ranks(ranked))
    known = [value for value in ranked if value is not None]
    return [
        float(1 + sum(other < value for other in known) if value is not None else len(known) + 1)
        if entry.is_baseline
        else next(teams)
        for entry, value in zip(entries, values, strict=True)
    ]

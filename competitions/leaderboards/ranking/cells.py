"""Cells: what the rows of a board are sorted by, beside its primary column."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from competitions.catalog.models import Column
from competitions.leaderboards.models import Cell, Entry
from competitions.leaderboards.ranking.values import primary_column, task_key

MISSING: Final = sys.float_info.max  # sorts behind every value; infinity has no place in a cursor's JSON

Order = Callable[[float], float]


def sort_keys(
    columns: Iterable[Column], values: dict[str, Any], facts: Sequence[str], tasks: Sequence[int] = ()
) -> dict[str, Order]:
    """What a row with these values can be sorted by: `key`, `key@task` or a number of the fact sheet, with what orders it.

    `tasks`: those of submitted datasets, on which the row may have no value yet.
    """
    keys: dict[str, Order] = {column.key: column.rank_value for column in columns}
    for column in columns:
        prefix = task_key(column.key, 0)[:-1]
        keys |= {key: column.rank_value for key in values if key.startswith(prefix)}
        if column.kind == Column.Kind.SCORE:
            keys |= {task_key(column.key, task): column.rank_value for task in tasks}
    return keys | dict.fromkeys(facts, float)


def cells_write(entry: Entry, columns: list[Column], facts: Sequence[str] = (), *, tasks: Sequence[int] = ()) -> None:
    """Keep the entry's sort values. A board of one column and one task needs none.

    `facts`: keys of numbers that stand on it; `tasks`: those of submitted datasets.
    """
    primary = primary_column(columns)
    orders = sort_keys(columns, entry.values, facts, tasks)
    if primary is not None:
        orders.pop(primary.key, None)  # rows are in its order
    if not orders:
        return
    Cell.objects.filter(entry=entry).delete()
    Cell.objects.bulk_create(cell_of(entry, key, order) for key, order in orders.items())


def cell_of(entry: Entry, key: str, order: Order) -> Cell:
    return Cell(
        entry=entry,
        leaderboard_id=entry.leaderboard_id,
        key=key,
        is_baseline=entry.is_baseline,
        sort_value=order(entry.values[key]) if key in entry.values else MISSING,
    )

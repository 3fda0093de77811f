"""Cells: what the rows of a board are sorted by, beside its primary column."""

import sys
from collections.abc import Iterable
from typing import Any, Final

from competitions.leaderboards.models import Cell, Column, Entry
from competitions.leaderboards.values import primary_column, task_key

MISSING: Final = sys.float_info.max  # sorts behind every value; infinity has no place in a cursor's JSON


def sort_keys(columns: Iterable[Column], values: dict[str, Any]) -> dict[str, Column]:
    """What a row with these values can be sorted by beside the primary column: `key` or `key@task`, with its column."""
    keys = {column.key: column for column in columns}
    for column in columns:
        prefix = task_key(column.key, 0)[:-1]
        keys |= {key: column for key in values if key.startswith(prefix)}
    return keys


def cells_write(entry: Entry, columns: list[Column]) -> None:
    """Keep the entry's sort values. A board of one column and one task needs none."""
    primary = primary_column(columns)
    wanted = {
        key: column for key, column in sort_keys(columns, entry.values).items() if primary is None or key != primary.key
    }
    if not wanted:
        return
    Cell.objects.filter(entry=entry).delete()
    Cell.objects.bulk_create(cell_of(entry, key, column) for key, column in wanted.items())


def cell_of(entry: Entry, key: str, column: Column) -> Cell:
    return Cell(
        entry=entry, leaderboard_id=entry.leaderboard_id, key=key, is_baseline=entry.is_baseline,
        sort_value=column.rank_value(entry.values[key]) if key in entry.values else MISSING,
    )  # fmt: skip

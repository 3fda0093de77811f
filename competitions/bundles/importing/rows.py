"""A competition's rows in a bundle: stored files, existing rows to change, new ones, those left out."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model

from competitions.resources.models import StoredFile

RowT = TypeVar("RowT", bound=Model)


class Existing(Generic[RowT]):
    """Rows that are there already, each taken once, by the value of one field."""

    def __init__(self, rows: Iterable[RowT], field: str) -> None:
        self._rows: dict[Hashable, list[RowT]] = defaultdict(list)
        for row in rows:
            self._rows[getattr(row, field)].append(row)

    def take(self, value: Hashable, otherwise: RowT) -> RowT:
        """The first row with this value, else the other one, which is new."""
        return self._rows[value].pop(0) if self._rows[value] else otherwise

    def remove_others(self) -> None:
        """Delete the rows that were not taken."""
        for rows in self._rows.values():
            for row in rows:
                row.delete()


def fill(row: RowT, **fields: Any) -> RowT:
    """Give the row these values, without saving it."""
    for name, value in fields.items():
        setattr(row, name, value)
    return row


def write(row: RowT, *, is_checked: bool = True, **fields: Any) -> RowT:
    """Set these values and save the row if any differs. Raises `ValidationError` from its model."""
    if row.pk and all(getattr(row, name) == value for name, value in fields.items()):
        return row
    fill(row, **fields)
    if is_checked:
        row.full_clean()
    row.save()
    return row


@dataclass(frozen=True)
class Part:
    """A stored file, its name for downloads, and if its content was new to the site."""

    file: StoredFile
    file_name: str
    is_new: bool

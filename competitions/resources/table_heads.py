"""The first rows of tables of text, read from the beginnings of their files alone."""

import csv
from dataclasses import dataclass
from typing import Final

from competitions.resources.models import Resource
from competitions.resources.storage import open_stored
from workers.protocol.texts import printable

HEAD_BYTES: Final = 4096
ROWS, COLUMNS, CHARACTERS = 5, 8, 40  # of a preview; cells are cut
SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class TableHead:
    """Names of columns and first rows; `more_columns` are left out. In a zip it has a `name`."""

    columns: list[str]
    rows: list[list[str]]
    more_columns: int
    name: str = ""

    @property
    def names(self) -> list[tuple[str, bool]]:
        """The names of the columns, each with a mark if it holds numbers."""
        return list(zip(self.columns, self._marks, strict=True))

    @property
    def cells(self) -> list[list[tuple[str, bool]]]:
        """The rows, each cell with the mark of its column."""
        return [list(zip(row, self._marks, strict=False)) for row in self.rows]

    @property
    def _marks(self) -> list[bool]:
        places = range(len(self.columns))
        return [all(is_number(row[place]) for row in self.rows if place < len(row)) for place in places]


def is_number(text: str) -> bool:
    """True for a number; an empty cell is as good as one."""
    try:
        float(text or "0")
    except ValueError:
        return False
    return True


def separator_by_name(file_name: str) -> str | None:
    """The separator of a table's columns by the ending of its name; None for another kind of file."""
    return next((sign for suffix, sign in SEPARATORS.items() if file_name.lower().endswith(suffix)), None)


def table_head(resource: Resource) -> TableHead | None:
    """None for a file of another kind, one that is packed, or whose beginning is no table of UTF-8 text."""
    separator = separator_by_name(resource.file_name)
    if separator is None:
        return None
    with open_stored(resource.file) as file:
        return parse_head(file.read(HEAD_BYTES), separator)


def parse_head(head: bytes, separator: str, name: str = "") -> TableHead | None:
    """The table that begins with these bytes, of which there are `HEAD_BYTES` unless that is all of it."""
    is_whole = len(head) < HEAD_BYTES
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    try:
        rows = list(csv.reader(lines if is_whole else lines[:-1], delimiter=separator))[: ROWS + 1]
    except csv.Error:
        return None
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    cut = [[printable(cell[:CHARACTERS]) for cell in row[:COLUMNS]] for row in rows]
    return TableHead(cut[0], cut[1:], max(0, len(rows[0]) - COLUMNS), name)

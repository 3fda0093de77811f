"""The first rows of a plain table of text, read from the beginning of its file alone."""

import csv
from dataclasses import dataclass
from typing import Final

from competitions.resources.models import Resource
from competitions.resources.storage import open_stored

HEAD_BYTES: Final = 4096
ROWS, COLUMNS, CHARACTERS = 5, 8, 40  # of a preview; cells are cut
SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class TableHead:
    """Names of columns and first rows; `more_columns` says how many are left out."""

    columns: list[str]
    rows: list[list[str]]
    more_columns: int


def table_head(resource: Resource) -> TableHead | None:
    """None for a file of another kind, one that is packed, or whose beginning is no table of UTF-8 text."""
    separator = next((sign for suffix, sign in SEPARATORS.items() if resource.file_name.lower().endswith(suffix)), None)
    if separator is None:
        return None
    with open_stored(resource.file) as file:
        head = file.read(HEAD_BYTES)
    is_whole = len(head) < HEAD_BYTES
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    try:
        rows = list(csv.reader(lines if is_whole else lines[:-1], delimiter=separator))[: ROWS + 1]
    except csv.Error:
        return None
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    cut = [[cell[:CHARACTERS] for cell in row[:COLUMNS]] for row in rows]
    return TableHead(cut[0], cut[1:], max(0, len(rows[0]) - COLUMNS))

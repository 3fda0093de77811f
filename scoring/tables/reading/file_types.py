"""The format of a table, by its name and its first bytes: nothing here reads a table."""

import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

from scoring.errors import ScoringInputError
from scoring.tables.reading.encodings import EXCEL_STEPS
from scoring.tables.schema import Format

_ENDINGS: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
}
_MAGIC: Final = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_SPREADSHEETS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers")
_OLD_EXCEL: Final = b"\xd0\xcf\x11\xe0"
_FIRST_IN_WORKBOOKS: Final = (
    b"[Content_Types].xml",
    b"_rels/.rels",
    b"docProps/",
    b"xl/",
    b"mimetypeapplication/vnd.oasis",
)
_START_BYTES: Final = 100
_BEGINNINGS: Final = {
    ".parquet": b"PAR1",
    ".npz": b"PK\x03\x04",
    ".zip": b"PK\x03\x04",
    ".gz": b"\x1f\x8b",
    ".zst": b"\x28\xb5\x2f\xfd",
}


def table_format(filename: str) -> Format:
    """The format that a file's name stands for, compressed or not; of a zip the name says nothing.

    >>> table_format("predictions.csv.gz")
    'csv'
    """
    require_no_spreadsheet(filename)
    if (ending := _plain_ending(filename)) not in _ENDINGS:
        right = f"use {', '.join(sorted(_ENDINGS))}, also compressed as .gz or .zst, or a .zip with one such file"
        raise ScoringInputError("wrong_file_name", ascii(filename[:120]), "this is not a table", right)
    return _ENDINGS[ending]


def _plain_ending(filename: str) -> str:
    """The ending without that of a packing."""
    name = PurePath(filename.lower())
    return PurePath(name.stem).suffix if name.suffix in (".gz", ".zst") else name.suffix


def packed_table_format(names: Sequence[str]) -> Format:
    """The format of the only table in a zip, by the names in it.

    >>> packed_table_format(["p.csv", "__MACOSX/._p.csv"])
    'csv'
    >>> packed_table_format(["predict.py", "model.bin"])
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: the zip: it holds 'predict.py', 'model.bin'; put exactly one table into it.
    """
    members = [name for name in names if not is_extra(name)]
    if len(members) != 1:
        what = f"it holds {join_values([ascii(name) for name in members])}" if members else "it holds no file"
        raise ScoringInputError("extra_member", "the zip", what, "put exactly one table into it")
    return table_format(PurePath(members[0]).name)


def require_no_spreadsheet(filename: str) -> None:
    """Refuse the name of a workbook, and say what to press.

    >>> require_no_spreadsheet("p.xlsx")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: 'p.xlsx': it is a spreadsheet; in Excel, choose Save As and then CSV UTF-8 (Comma delimited).
    """
    if _plain_ending(filename) in _SPREADSHEETS:
        raise _spreadsheet(filename)


def _spreadsheet(filename: str) -> ScoringInputError:
    return ScoringInputError("unknown_format", ascii(filename[:120]), "it is a spreadsheet", EXCEL_STEPS)


def _is_workbook(start: bytes) -> bool:
    """True for a spreadsheet under another name, by the name of the first file in its zip."""
    first = start[30:_START_BYTES]
    return start.startswith(_OLD_EXCEL) or (start.startswith(b"PK\x03\x04") and first.startswith(_FIRST_IN_WORKBOOKS))


def is_table_name(filename: str) -> bool:
    """True where the name is one of a table, plain or compressed; a zip may be anything.

    >>> is_table_name("predictions.csv.gz"), is_table_name("model.py")
    (True, False)
    """
    return _plain_ending(filename) in _ENDINGS


def table_ending(filename: str) -> str:
    """The ending by which a table's file is read, with that of its packing.

    >>> table_ending("Final.v2.CSV.gz"), table_ending("final.v2.csv")
    ('.csv.gz', '.csv')
    """
    suffixes = PurePath(filename.lower()).suffixes
    return "".join(suffixes[-2:] if suffixes[-1:] in ([".gz"], [".zst"]) else suffixes[-1:])


def require_content(path: Path, name: str) -> None:
    """Refuse a file whose first bytes are not what the name promises.

    >>> require_content(Path("missing.csv"), "missing.csv")
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: 'missing.csv': it cannot be read; give a file that is there.
    """
    try:
        with path.open("rb") as file:
            start = file.read(_START_BYTES)
    except OSError as error:
        raise ScoringInputError("no_file", ascii(name), "it cannot be read", "give a file that is there") from error
    if not start:
        raise ScoringInputError("empty_file", ascii(name), "it is empty", "give a header and rows")
    require_no_spreadsheet(name)
    if _is_workbook(start):
        raise _spreadsheet(name)
    ending = PurePath(name).suffix.lower()
    promised = _BEGINNINGS.get(ending)
    held = next((what for magic, what in _MAGIC.items() if start.startswith(magic)), "something else")
    what = ""
    if promised is not None and not start.startswith(promised):
        what = f"the name ends in {ending}, but the file is {held}"
    elif promised is None and held != "something else":
        what = f"the file is {held}, which its name does not say"
    if what:
        raise ScoringInputError("unknown_format", ascii(name), what, "name it by what it is")


def is_extra(name: str) -> bool:
    """True where an archiver added that member by itself.

    >>> is_extra("__MACOSX/._p.csv"), is_extra("p.csv")
    (True, False)
    """
    return name.startswith("__MACOSX/") or PurePath(name).name in (".DS_Store", "Thumbs.db")


def printable(text: str) -> str:
    """The text with blanks for what cannot be shown, such as a NUL.

    >>> printable("a\\0b")
    'a b'
    """
    return "".join(character if character.isprintable() else " " for character in text)


def join_values(values: Sequence[object], *, total: int | None = None, show: int = 5) -> str:
    """The first few values for a sentence, and how many more there are.

    >>> join_values([1, 2, 3], show=2)
    '1, 2 and 1 more'
    """
    count = len(values) if total is None else total
    shown = ", ".join(re.sub(r"\s+", " ", str(value))[:80] for value in values[:show])
    return shown if count <= show else f"{shown} and {count - show:,} more"

"""Reading a table: CSV, TSV, Parquet, JSON Lines or npz, compressed or not.

It may be plain, .gz, .zst, or the only file of a zip. The name and the first bytes must agree. The size of a compressed
file's content is counted while it is written to disk, and refused past a limit; the number of a Parquet file's rows is read
before the rows are.
"""

import gzip
import math
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePath
from typing import IO, Any, Final, TypeAlias

import numpy as np
import polars as pl
import zstandard
from numpy.lib import format as npy

from scoring.errors import ScoringInputError, is_of_host
from scoring.tables.reading.delimited import read_delimited
from scoring.tables.reading.encodings import require_utf8, wide_encoding, write_as_utf8
from scoring.tables.reading.file_types import is_extra, join_values, printable, require_content, table_format
from scoring.tables.schema import Format

LIMIT_BYTES: Final = 16 << 30
"""The most that a file may unpack to unless the caller says otherwise."""

_CHUNK: Final = 1 << 20
_TEXTS: Final[tuple[Format, ...]] = ("csv", "tsv", "jsonl")
_UNREADABLE: Final = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,  # no `Exception`: some damage meets an assertion of its reader
    OSError,
    ValueError,
    EOFError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Raised by polars, numpy and zipfile on files that are damaged, encrypted or too large for the machine."""

SHOWN: Final = 5
"""Ids or places that a sentence names."""
_SHOWN_OF_ONE: Final = 3
Place: TypeAlias = Callable[[int], str]
"""Where row N (from 0) stands, for a person, such as ``line 2``."""
Types = Mapping[str, Any]
"""Polars types by column."""


@dataclass(frozen=True)
class Source:
    """A readable plain file: where it lies and which format it has."""

    path: Path
    format: Format

    def place(self, row: int) -> str:
        """The place of row `row` (from 0) for a person: the line of a text file, else the row from 1.

        >>> Source(Path("p.csv"), "csv").place(0)
        'line 2'
        """
        first_line = {"csv": 2, "tsv": 2, "jsonl": 1}.get(self.format)
        return f"row {row + 1:,}" if first_line is None else f"line {row + first_line:,}"


def row_number(row: int) -> str:
    """The place of a row of which nothing but its number is known.

    >>> row_number(0)
    'row 1'
    """
    return f"row {row + 1:,}"


def name_repeats(values: pl.Series, place: Place = row_number) -> str:
    """Name the first values that are there more than once, each with its first places; empty if none is.

    >>> name_repeats(pl.Series([7, 8, 7]))
    '7 is in rows 1 and 3'
    """
    again = values.is_not_null() & ~values.is_first_distinct()
    repeated = values.filter(again).unique(maintain_order=True)
    named = [f"{ascii(value)[:80]} is in {_first_places(values == value, place)}" for value in repeated.head(SHOWN)]
    more = f"; and {len(repeated) - SHOWN:,} more are repeated" if len(repeated) > SHOWN else ""
    return "; ".join(named) + more


def _first_places(chosen: pl.Series, place: Place) -> str:
    """Lines 2 and 42."""
    rows = chosen.arg_true()
    unit, numbers = "", []
    for row in rows.head(_SHOWN_OF_ONE):
        unit, _, number = place(row).rpartition(" ")
        numbers.append(number)
    if len(rows) > len(numbers):
        return f"{unit}s {join_values(numbers, total=len(rows), show=_SHOWN_OF_ONE)}"
    return f"{unit}s {', '.join(numbers[:-1])} and {numbers[-1]}"


def read_table(path: Path, *, filename: str | None = None, types: Types | None = None) -> pl.DataFrame:
    """The table in the file, with the types that its values suggest.

    `filename` is the name that its owner gave it, by default the last part of `path`; `types` are those by column, for a
    text file whose columns are known. Raises `ScoringInputError` for no table, two files in a zip, a damaged file or one
    that is too large, and for a cell that is not of its given type.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("id,price\\n7,1.5\\n")
    ...     read_table(path).rows()
    [(7, 1.5)]
    """
    with open_table(path, filename=filename) as source:
        return read_source(source, types=types)


@contextmanager
def open_table(path: Path, *, filename: str | None = None, limit_bytes: int = LIMIT_BYTES) -> Iterator[Source]:
    """The plain file behind `path`, unpacked into a temporary file where it is compressed.

    Raises `ScoringInputError` as `read_table`.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv.gz"
    ...     _ = path.write_bytes(gzip.compress(b"id\\n7\\n"))
    ...     with open_table(path) as source:
    ...         source.path.read_bytes()
    b'id\\n7\\n'
    """
    name = PurePath(filename).name if filename is not None else path.name
    with tempfile.TemporaryDirectory() as folder:
        require_content(path, name)
        for step in count():
            if (ending := PurePath(name).suffix.lower()) not in _UNPACK:
                break
            target = Path(folder) / f"part{step}"
            name = _unpack(ending, path, PurePath(name), target, limit_bytes)
            if path.parent == target.parent:  # of one packed twice, only the last step stays on the disk
                path.unlink()
            path = target
            require_content(path, name)
        kind = table_format(name)
        if kind in _TEXTS and (encoding := wide_encoding(path)) is not None:
            write_as_utf8(path, encoding, Path(folder) / "utf8", limit_bytes)
            path = Path(folder) / "utf8"
        yield Source(path, kind)


def read_source(source: Source, *, types: Types | None = None, as_text: bool = False) -> pl.DataFrame:
    """The table of an opened file; with `as_text`, a CSV's or TSV's cells as they stand there.

    Decimal commas of numbers are read all the same.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("id\\n007\\n")
    ...     read_source(Source(path, "csv"), as_text=True).rows()
    [('007',)]
    """
    try:
        table = _read(source, types or {}, as_text)
    except ScoringInputError:
        raise
    except _UNREADABLE as error:
        if source.format in _TEXTS:
            require_utf8(source.path)
        reason = printable(str(error).strip().partition("\n")[0][:200]) or type(error).__name__
        raise ScoringInputError(
            "unknown_format", "the table", f"it cannot be read ({reason})", f"write it again as {source.format}"
        ) from error
    if not table.width:
        raise ScoringInputError("empty_file", "the table", "it has no columns", "give a header and rows")
    _require_plain(table.schema)
    return _with_texts(table)


def require_rows(table: pl.DataFrame) -> None:
    """Refuse a table with a header alone.

    >>> require_rows(pl.DataFrame({"id": []}))
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: the table: it has a header ('id') and no row below it; give one row for each id.
    """
    if not table.height:
        what = f"it has a header ({join_values([ascii(name) for name in table.columns])}) and no row below it"
        raise ScoringInputError("empty_input", "the table", what, "give one row for each id")


def _require_plain(schema: Mapping[str, Any]) -> None:
    """Refuse cells with more than one number, text or date, and names that no database stores."""
    for name, kind in schema.items():
        if "\0" in name:
            what = f"the name holds a NUL character in place {name.index(chr(0)) + 1}"
            raise ScoringInputError("extra_column", ascii(name), what, "leave that out")
        if kind.is_nested() or kind == pl.Object:
            raise ScoringInputError("wrong_type", ascii(name), "it holds lists or records", "give one value a cell")
        if kind == pl.Duration:
            raise ScoringInputError("wrong_type", ascii(name), "it holds spans of time", "give them as numbers")


def _with_texts(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its bytes and categories as text: some programs write text so."""
    for name, kind in table.schema.items():
        if kind in (pl.Binary, pl.Categorical, pl.Enum):
            try:
                table = table.with_columns(pl.col(name).cast(pl.String))
            except pl.exceptions.PolarsError as error:
                what = "it holds bytes that are no UTF-8 text"
                raise ScoringInputError("wrong_type", ascii(name), what, "give numbers or texts") from error
    return table


def _unpack(ending: str, path: Path, name: PurePath, target: Path, limit_bytes: int) -> str:
    """Write what is inside to `target` and return its name."""
    try:
        with _UNPACK[ending](path) as (packed, inside), target.open("wb") as file:
            _copy(packed, file, limit_bytes)
    except (
        OSError,
        EOFError,
        RuntimeError,
        zlib.error,
        zipfile.BadZipFile,
        NotImplementedError,
        zstandard.ZstdError,
    ) as error:
        if is_of_host(error):
            raise
        raise ScoringInputError(
            "corrupt_archive", ascii(name.name), "it cannot be unpacked", "compress the file again"
        ) from error
    return inside or name.stem


def _copy(packed: IO[bytes], file: IO[bytes], limit_bytes: int) -> None:
    written = 0
    while chunk := packed.read(_CHUNK):
        written += file.write(chunk)
        if written > limit_bytes:
            raise ScoringInputError(
                "too_large", "the table", f"it unpacks to more than {limit_bytes:,} bytes", "give a smaller one"
            )


@contextmanager
def _gzip(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    with gzip.open(path) as packed:
        yield packed, ""  # type: ignore[misc]  # a GzipFile reads bytes


@contextmanager
def _zstd(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as packed:
        yield packed, ""


@contextmanager
def _zip(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    with zipfile.ZipFile(path) as archive:
        members = [item for item in archive.infolist() if not item.is_dir() and not is_extra(item.filename)]
        if len(members) != 1:
            raise ScoringInputError(
                "extra_member", "the zip", f"it holds {len(members)} files", "put exactly one table into it"
            )
        with archive.open(members[0]) as packed:
            yield packed, PurePath(members[0].filename).name


_UNPACK: Final[dict[str, Callable[[Path], Any]]] = {".gz": _gzip, ".zst": _zstd, ".zip": _zip}


def _read(source: Source, types: Types, as_text: bool) -> pl.DataFrame:
    match source.format:
        case "csv" | "tsv" as kind:
            return read_delimited(source.path, is_tsv=kind == "tsv", types=types, as_text=as_text)
        case "parquet":
            return _read_parquet(source.path)
        case "jsonl":
            return pl.read_ndjson(source.path, infer_schema_length=None)
        case "npz":
            return _read_arrays(source.path)


def _read_parquet(path: Path) -> pl.DataFrame:
    scan = pl.scan_parquet(path, glob=False)
    rows, width = scan.select(pl.len()).collect().item(), len(scan.collect_schema())
    if rows * width * 8 > LIMIT_BYTES:
        raise ScoringInputError("too_large", "the table", f"it has {rows:,} rows", "give a smaller one")
    _require_plain(scan.collect_schema())
    return scan.collect()


def _read_arrays(path: Path) -> pl.DataFrame:
    with zipfile.ZipFile(path) as archive:
        if sum(item.file_size for item in archive.infolist()) > LIMIT_BYTES:
            raise ScoringInputError("too_large", "the table", "its arrays are too large", "give smaller ones")
        for item in archive.infolist():
            _require_promised_size(archive, item)
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: np.asarray(stored[name]) for name in stored.files}
    return pl.DataFrame(dict(_columns_from(arrays)))


def _require_promised_size(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> None:
    """Refuse an array whose header promises another size than it has.

    Numpy takes that much memory before it reads.
    """
    with archive.open(item) as member:
        if member.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:  # what else there is numpy refuses
            member.seek(0)
            version, _ = npy.read_magic(member)
            read_header = npy.read_array_header_1_0 if version == 1 else npy.read_array_header_2_0
            shape, _, kind = read_header(member)
            promised = member.tell() + math.prod(shape) * kind.itemsize
            if promised != item.file_size and not kind.hasobject:
                what = f"it holds {item.file_size:,} bytes, but its header promises {promised:,}"
                raise ScoringInputError("wrong_shape", ascii(item.filename), what, "write it with numpy.savez")


def _columns_from(arrays: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """One column an array; a matrix gives its columns the names ``name_0``, ``name_1``."""
    lengths = {len(array) if array.ndim else -1 for array in arrays.values()}
    if len(lengths) != 1 or -1 in lengths:
        raise ScoringInputError("wrong_shape", "the arrays", "they differ in length", "give one value a row in each")
    for name, array in arrays.items():
        if array.ndim == 1:
            yield name, array
        elif array.ndim == 2:
            yield from ((f"{name}_{place}", array[:, place]) for place in range(array.shape[1]))
        else:
            raise ScoringInputError("wrong_shape", ascii(name), f"it has {array.ndim} dimensions", "give one or two")


def write_table(table: pl.DataFrame, path: Path) -> Path:
    """Write a table in the plain format that the name says; the path.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pl.DataFrame({"id": [1]}), Path(folder) / "p.csv").read_text()
    'id\\n1\\n'
    """
    writers: dict[Format, Callable[[], Any]] = {
        "csv": lambda: table.write_csv(path),
        "tsv": lambda: table.write_csv(path, separator="\t"),
        "parquet": lambda: table.write_parquet(path),
        "jsonl": lambda: table.write_ndjson(path),
        "npz": lambda: np.savez_compressed(path, **{column.name: _array(column) for column in table}),
    }
    writers[table_format(path.name)]()
    return path


def _array(column: pl.Series) -> Any:
    """Text of one width, as numpy keeps it without Python objects."""
    return column.to_numpy().astype(str) if column.dtype == pl.String else column.to_numpy()

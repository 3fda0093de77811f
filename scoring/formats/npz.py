"""Reading arrays out of an uploaded .npz that nobody has vouched for.

Nothing is believed before it is checked, nothing is unpickled, and no array is allocated before its name, type, shape
and true size are known to be the wanted ones. The parts of the zip format that numpy never writes are refused.
"""

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring.arrays import shape_words
from scoring.errors import ScoringInputError, is_of_host
from scoring.formats.layouts import Layout, Member, sibling_with_shape

_HARMLESS_BYTES: Final = 64 << 20
"""Files and members up to this size are looked into although they are too large: "wrong shape" says more."""

_OVERHEAD_BYTES: Final = 1 << 16  # of zip directory and npy header
_CHUNK_BYTES: Final = 1 << 20
_LARGEST_DIRECTORY: Final = 1 << 16
_LARGEST_HEADER: Final = 4096  # numpy writes 118 bytes for these arrays
_NPY_MAGIC: Final = b"\x93NUMPY"
_HEADER: Final = re.compile(
    r"\{'descr': (?P<descr>'[^']*'|\[.*\]), 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(?:\d+(?:, \d+)*,?)?)\),? ?\} *\n?",
    re.DOTALL,
)
_DESCRIPTION: Final = re.compile(r"'([<>|=]?)([a-zA-Z?])(\d{0,9})'")
_MADE_BY_US: Final = "write it with numpy.savez_compressed"
_DAMAGED: Final = (
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    struct.error,
    UnicodeDecodeError,
    OverflowError,
    OSError,
    IndexError,
)


@dataclass(frozen=True)
class Header:
    """The header of one .npy member: type, order, shape, and where the numbers start."""

    description: str
    fortran: bool
    shape: tuple[int, ...]
    size_bytes: int


def check_headers(path: Path, layout: Layout) -> None:
    """Check the declared names, types, shapes and sizes of an archive, without inflating a number.

    At most a few kilobytes of each member are read. Raises `ScoringInputError` with the first thing that is wrong.

    >>> import tempfile
    >>> from scoring.formats.layouts import layout
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "a.npz", y_pred=np.zeros(2, np.float32))
    ...     check_headers(Path(folder) / "a.npz", layout("lsc-pcqm4m", "test", 3))
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: ...
    """
    _require_file(path, layout)
    with _open_archive(path, layout.filename) as archive:
        infos = _infos_by_key(archive, layout)
        for member in layout.members:
            _require_plain_member(infos[member.key], member)
            _read_header(archive, infos[member.key], member, layout)


def read_arrays(path: Path, layout: Layout) -> dict[str, NDArray[Any]]:
    """The arrays of `layout` from the archive at `path`.

    Peak memory: the arrays and about 2 MB. Raises `ScoringInputError` with the first thing that is wrong.

    >>> import tempfile
    >>> from scoring.formats.layouts import layout
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "a.npz", y_pred=np.zeros(3, np.float32))
    ...     read_arrays(Path(folder) / "a.npz", layout("lsc-pcqm4m", "test", 3))["y_pred"].tolist()
    [0.0, 0.0, 0.0]
    """
    _require_file(path, layout)
    with _open_archive(path, layout.filename) as archive:
        infos = _infos_by_key(archive, layout)
        for member in layout.members:
            _require_plain_member(infos[member.key], member)
        headers = {member.key: _read_header(archive, infos[member.key], member, layout) for member in layout.members}
        return {
            member.key: _read_numbers(archive, infos[member.key], member, headers[member.key])
            for member in layout.members
        }


def _require_file(path: Path, layout: Layout) -> None:
    """Kind, size, first bytes and end record of the file: everything that needs no zip library."""
    try:
        status = path.stat()
    except OSError as error:
        raise ScoringInputError(
            "no_file", layout.filename, f"it cannot be read ({error.strerror})", "give a file"
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise ScoringInputError("no_file", layout.filename, "it is not a regular file", "give a file")
    if status.st_size == 0:
        raise ScoringInputError("empty_file", layout.filename, "it is empty", _MADE_BY_US)
    allowed = max(layout.largest_bytes + layout.largest_bytes // 1000 + _OVERHEAD_BYTES, _HARMLESS_BYTES)
    if status.st_size > allowed:
        raise ScoringInputError(
            "too_large", layout.filename, f"it has {status.st_size:,} bytes", f"a right file has at most {allowed:,}"
        )
    with path.open("rb") as file:
        _require_zip_start(file.read(8), layout.filename)
        file.seek(max(0, status.st_size - _LARGEST_DIRECTORY))
        _require_end_record(file.read(), layout.filename)


def _require_zip_start(start: bytes, name: str) -> None:
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return
    kinds = {_NPY_MAGIC: "a single .npy array", b"\x1f\x8b": "a gzip file", b"\x80": "a pickle", b"{": "JSON text"}
    kind = next((f" but {text}" for magic, text in kinds.items() if start.startswith(magic)), "")
    raise ScoringInputError("not_a_zip", name, f"this is not an .npz file{kind}", _MADE_BY_US)


def _require_end_record(tail: bytes, name: str) -> None:
    """Find the end record, and with it how many members and how large a directory the library would load."""
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) < place + 22:
        raise ScoringInputError("truncated", name, "the end of the archive is missing", "upload the whole file again")
    entries, directory, _, comment = struct.unpack("<HLLH", tail[place + 10 : place + 22])
    if entries == 0:
        raise ScoringInputError("no_member", name, "the archive is empty", _MADE_BY_US)
    if place + 22 + comment != len(tail) or directory > _LARGEST_DIRECTORY:
        raise ScoringInputError(
            "corrupt_archive", name, "its directory is larger or elsewhere than it says", _MADE_BY_US
        )


@contextmanager
def _open_archive(path: Path, name: str) -> Iterator[zipfile.ZipFile]:
    """The archive, with everything that the libraries raise on damaged bytes turned into our error."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except _DAMAGED as error:
        if is_of_host(error):
            raise
        raise _damage(error, name) from error


def _damage(error: Exception, name: str) -> ScoringInputError:
    match error:
        case EOFError():
            return ScoringInputError("truncated", name, "its data end too early", "upload the file again")
        case NotImplementedError():
            return ScoringInputError("unsupported_compression", name, str(error), _MADE_BY_US)
        case zlib.error():
            return ScoringInputError("crc_error", name, f"it is damaged ({error})", "upload the file again")
        case zipfile.BadZipFile():
            code = "crc_error" if "CRC" in str(error) else "corrupt_archive"
            return ScoringInputError(code, name, f"it is damaged ({error})", "upload the file again")
    return ScoringInputError("corrupt_archive", name, f"it is damaged ({error})", _MADE_BY_US)


def _infos_by_key(archive: zipfile.ZipFile, layout: Layout) -> dict[str, zipfile.ZipInfo]:
    """The wanted members by key: exactly these, each once, no folders."""
    keys_by_name = {f"{member.key}.npy": member.key for member in layout.members}
    given = archive.infolist()
    names = [info.filename for info in given]
    expected = " and ".join(keys_by_name)
    for name in names:
        if "/" in name or "\\" in name or has_path(name):
            raise ScoringInputError(
                "path_in_member", _printable_name(name), "its name holds a path", f"name it {expected}"
            )
    missing = [name for name in keys_by_name if name not in names]
    if missing:
        shown = ", ".join(map(_printable_name, names[:3]))
        raise ScoringInputError("wrong_key", layout.filename, f"it holds {shown}", f"it must hold {expected} alone")
    if len(given) != len(keys_by_name):
        raise ScoringInputError(
            "extra_member", layout.filename, f"it holds {len(given)} members", f"it must hold {expected} alone"
        )
    return {keys_by_name[info.filename]: info for info in given}


def has_path(name: str) -> bool:
    """True where a member's name would mean a drive, a parent or a control character.

    >>> has_path("y_pred.npy"), has_path("..")
    (False, True)
    """
    return ".." in name or ":" in name or not name.isprintable()


def _printable_name(name: str) -> str:
    """A member's name as it may stand in a message: short and printable."""
    return ascii(name[:60])


def _require_plain_member(info: zipfile.ZipInfo, member: Member) -> None:
    """Not encrypted, deflated or stored, and not of an absurd size. Nothing has been inflated yet."""
    if info.flag_bits & 0x41:
        raise ScoringInputError("encrypted", info.filename, "it is encrypted", "upload it without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ScoringInputError(
            "unsupported_compression", info.filename, f"it uses zip method {info.compress_type}", "use deflate"
        )
    allowed = max(member.largest_bytes + _OVERHEAD_BYTES, _HARMLESS_BYTES)
    if info.file_size > allowed:
        right = f"the array {member.key} takes {member.largest_bytes:,}"
        raise ScoringInputError("too_large", info.filename, f"it unpacks to {info.file_size:,} bytes", right)


def _read_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo, member: Member, layout: Layout) -> Header:
    """The member's header, checked against the wanted type and shape and against the member's size."""
    with archive.open(info) as stream:
        header = parse_header(stream, info.filename)
    _require_dtype(header, member, info.filename)
    _require_shape(header, member, layout, info.filename)
    numbers = int(np.prod(header.shape, dtype=np.int64)) * int(header.description[2:])
    promised, there = header.size_bytes + numbers, info.file_size
    if there != promised:
        code, held = ("truncated", "fewer") if there < promised else ("too_large", "more")
        what = f"it holds {there:,} bytes, {held} than the {promised:,} its header promises"
        raise ScoringInputError(code, info.filename, what, _MADE_BY_US)
    return header


def parse_header(stream: IO[bytes], name: str) -> Header:
    """The header of a .npy stream (format 1.0 or 2.0), read with a bound and without evaluation.

    Raises `ScoringInputError` (``bad_header``, ``object_dtype``, ``wrong_dtype``).

    >>> import io
    >>> buffer = io.BytesIO(); np.save(buffer, np.zeros((2, 10), np.int32)); _ = buffer.seek(0)
    >>> parse_header(buffer, "a.npy")
    Header(description='<i4', fortran=False, shape=(2, 10), size_bytes=128)
    """
    start = stream.read(12)
    if not start.startswith(_NPY_MAGIC) or len(start) < 12 or start[6] not in (1, 2):
        raise ScoringInputError("bad_header", name, "it is not a .npy array", _MADE_BY_US)
    prefix = 10 if start[6] == 1 else 12
    length = int.from_bytes(start[8:prefix], "little")
    if length > _LARGEST_HEADER:
        raise ScoringInputError("bad_header", name, f"its header has {length:,} bytes", _MADE_BY_US)
    text = (start[prefix:] + stream.read(length - (12 - prefix))).decode("latin-1")
    match = _HEADER.fullmatch(text)
    if match is None or len(text) != length:
        raise ScoringInputError("bad_header", name, "its header is not as numpy writes it", _MADE_BY_US)
    shape = tuple(int(number) for number in re.findall(r"\d+", match["shape"]))
    return Header(_description(match["descr"], name), match["fortran"] == "True", shape, prefix + length)


def _description(descr: str, name: str) -> str:
    """The npy type, for instance ``<f4``; objects and records are refused by name."""
    match = _DESCRIPTION.fullmatch(descr)
    if match is None:
        raise ScoringInputError("wrong_dtype", name, "it holds records", "use one plain number type")
    if match[2] == "O":
        raise ScoringInputError(
            "object_dtype", name, "it holds Python objects, which are never loaded", "use an array of numbers"
        )
    return "".join(match.groups())


def _require_dtype(header: Header, member: Member, name: str) -> None:
    if header.description not in member.dtypes:
        names = " or ".join(str(np.dtype(dtype)) for dtype in member.dtypes)
        raise ScoringInputError(
            "wrong_dtype", name, f"its type is {header.description}", f"use {names}, little-endian ({member.dtypes[0]})"
        )


def _require_shape(header: Header, member: Member, layout: Layout, name: str) -> None:
    if header.shape == member.shape:
        return
    sibling = sibling_with_shape(layout, member, header.shape)
    if sibling is not None:
        what = f"it is {shape_words(header.shape)}, as many as {sibling} has"
        right = f"upload the file for {layout.split}, {shape_words(member.shape)}"
        raise ScoringInputError("wrong_split", name, what, right)
    raise ScoringInputError(
        "wrong_shape", name, f"it is {shape_words(header.shape)}", f"it must be {shape_words(member.shape)}"
    )


def _read_numbers(archive: zipfile.ZipFile, info: zipfile.ZipInfo, member: Member, header: Header) -> NDArray[Any]:
    """Inflate the numbers into the array, a chunk at a time. Only now is anything of their size allocated.

    The library compares the checksum when the last byte has been read.
    """
    flat = np.empty(int(np.prod(member.shape, dtype=np.int64)), np.dtype(header.description))
    room = flat.view(np.uint8)
    with archive.open(info) as stream:
        stream.read(header.size_bytes)
        done = 0
        while done < len(room):
            chunk = stream.read(min(_CHUNK_BYTES, len(room) - done))
            if not chunk:
                raise EOFError("the compressed data end too early")
            room[done : done + len(chunk)] = np.frombuffer(chunk, np.uint8)
            done += len(chunk)
    return flat.reshape(member.shape, order="F" if header.fortran else "C")

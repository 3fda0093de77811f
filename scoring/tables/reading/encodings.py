"""Encodings of text files: UTF-16 is written anew as UTF-8; the line of what is neither is named."""

import codecs
from pathlib import Path
from typing import Final

from scoring.errors import ScoringInputError

EXCEL_STEPS: Final = "in Excel, choose Save As and then CSV UTF-8 (Comma delimited)"
_CHUNK: Final = 1 << 20
_UNMARKED: Final = {b"\1\0\1\0": "utf-16-le", b"\0\1\0\1": "utf-16-be"}  # where the first characters are ASCII
_MARKS: Final = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def wide_encoding(path: Path) -> str | None:
    r"""The encoding of a text of two or four bytes a character, by its first bytes; None for any other.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_bytes("id\n7\n".encode("utf-16-le"))
    ...     wide_encoding(path)
    'utf-16-le'
    """
    with path.open("rb") as file:
        start = file.read(4)
    marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    if marked is not None or len(start) < 4:
        return marked
    return _UNMARKED.get(bytes(map(bool, start)))


def write_as_utf8(path: Path, encoding: str, target: Path, limit_bytes: int) -> None:
    """Write the text to `target` as UTF-8.

    Raises `ScoringInputError` where it is not in that encoding, or is too large.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, target = Path(folder) / "p.csv", Path(folder) / "q.csv"
    ...     _ = path.write_bytes("ort\\nZürich\\n".encode("utf-16"))
    ...     write_as_utf8(path, "utf-16", target, 100)
    ...     target.read_text("utf-8")
    'ort\\nZürich\\n'
    """
    decoder, written = codecs.getincrementaldecoder(encoding)(), 0
    with path.open("rb") as file, target.open("wb") as copy:
        while True:
            chunk = file.read(_CHUNK)
            try:
                written += copy.write(decoder.decode(chunk, final=not chunk).encode())
            except UnicodeError as error:
                what = f"it begins as {encoding.upper()} and holds something else"
                raise ScoringInputError(
                    "unknown_format", "the table", what, f"save it as UTF-8: {EXCEL_STEPS}"
                ) from error
            if written > limit_bytes:
                what = f"it unpacks to more than {limit_bytes:,} bytes"
                raise ScoringInputError("too_large", "the table", what, "give a smaller one")
            if not chunk:
                return


def require_utf8(path: Path) -> None:
    """Refuse a text that is not UTF-8, with the line of its first wrong byte.

    A byte that is a letter in Windows' encoding is shown as that.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_bytes(b"ort\\nUlm\\n\\xc5s\\n")
    ...     require_utf8(path)
    Traceback (most recent call last):
    scoring.errors.ScoringInputError: line 3: it is not UTF-8 text (it holds the byte 0xC5, which is “Å” in Windows-1252 and Latin-1); \
save the file as UTF-8: in Excel, choose Save As and then CSV UTF-8 (Comma delimited).
    """
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with path.open("rb") as file:
        while True:
            chunk = file.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                raise _not_utf8(line, error.object[error.start]) from error
            if not chunk:
                return
            line += chunk.count(b"\n")


def _not_utf8(line: int, byte: int) -> ScoringInputError:
    what, letter = "it is not UTF-8 text", bytes([byte]).decode("cp1252", errors="replace")
    if letter.isalpha():
        what += f" (it holds the byte 0x{byte:02X}, which is “{letter}” in Windows-1252 and Latin-1)"
    return ScoringInputError("unknown_format", f"line {line:,}", what, f"save the file as UTF-8: {EXCEL_STEPS}")

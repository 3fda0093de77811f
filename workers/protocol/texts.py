"""Texts and text files that teams send: site and worker judge them alike."""

import codecs
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import IO

CHUNK_BYTES = 1 << 20


def printable(text: str) -> str:
    r"""The text with blanks for what cannot be shown, or stored: NUL and lone surrogates are among it.

    >>> printable("a\0b")
    'a b'
    """
    return "".join(char if char.isprintable() else " " for char in text)


def is_text_name(path: str, patterns: Iterable[str]) -> bool:
    """True if the file's name, in any case of letters, matches one of the patterns.

    >>> is_text_name("fold-1/Answers.CSV", ["*.csv", "*.txt"])
    True
    """
    name = path.rpartition("/")[2].lower()
    return any(fnmatchcase(name, pattern.lower()) for pattern in patterns)


def first_fault(stream: IO[bytes]) -> int | None:
    """The number of bytes before the first that is not UTF-8 text; None where all of it is.

    >>> import io
    >>> first_fault(io.BytesIO(b"Z\\xc3\\xbcrich")), first_fault(io.BytesIO(b"Z\\xfcrich"))
    (None, 1)
    """
    decoder, before = codecs.getincrementaldecoder("utf-8")(), 0
    while True:
        chunk = stream.read(CHUNK_BYTES)
        held = len(decoder.getstate()[0])  # the beginning of a character that the next bytes go on with
        try:
            decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            return before - held + error.start
        if not chunk:
            return None
        before += len(chunk)


def fault_text(name: str, position: int) -> str:
    """A sentence on the fault and on what would be right, for a name that is fit to be shown."""
    return (
        f"{name} is not UTF-8 text (from byte {position} on), so it was not scored. Write it with the encoding utf-8."
    )

"""Text that people, programs and databases can take, and whole numbers in it."""

import re
from collections.abc import Iterator, Mapping


def printable(text: str) -> str:
    """The text with blanks for what cannot be shown; NUL and lone surrogates, which a database refuses, are among it."""
    return "".join(char if char.isprintable() else " " for char in text)


def is_storable(text: str) -> bool:
    r"""False for a text with a NUL or a lone surrogate, which a database refuses.

    >>> [is_storable(text) for text in ("a\nb", "a\0b", "\ud800")]
    [True, False, False]
    """
    return re.search("[\0\ud800-\udfff]", text) is None


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value, at any depth, names of members included.

    >>> sorted(texts_in({"a": ["b", 1, {"c": "d"}]}))
    ['a', 'b', 'c', 'd']
    """
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            waiting += [*part, *part.values()]
        elif isinstance(part, list):
            waiting += part


def is_number(text: str) -> bool:
    """True for 1 to 18 ASCII digits: a number that `int` reads and every database column holds.

    >>> [is_number(text) for text in ("17", "", "-1", "1.0", "²", "9" * 19)]
    [True, False, False, False, False, False]
    """
    return text.isascii() and text.isdecimal() and len(text) <= 18

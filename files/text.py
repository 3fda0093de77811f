"""Text that people, programs and databases can take, and whole numbers in it."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count
from typing import Final

NO_TERMS: Final = "The organizers of this competition have given no terms."
# Words that all texts consist of which hold the place of rules that nobody has written yet, such as "Terms: TODO".
PLACEHOLDER_WORD: Final = re.compile(
    r"a|add|added|and|announced|are|be|been|coming|conditions|defined|done|empty|fixme|for|go|goes|here|i|insert|is|n|no|none|not|of|"
    r"participation|placeholder|please|put|rules|s|service|should|soon|tba|tbd|terms|the|there|these|this|to|todo|use|will|write|written|"
    r"xxx|yet|your"
)
MARKUP: Final = re.compile(r"<[^<>]*>|&\w+;")
LINE_BREAKS: Final = frozenset("\u2028\u2029")
# They change the order in which what follows is shown, so that a text says one thing and shows another.
BIDI_CONTROLS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


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


def has_control_characters(text: str) -> bool:
    r"""True for a text with line breaks, tabs, NUL, other control characters or half characters.

    >>> [has_control_characters(text) for text in ("Ä, 1", "a\nb", "a\x07", "a\u2028b", "\ud800")]
    [False, True, True, True, True]
    """
    return any(is_control_character(char) for char in text)


def first_address(text: str) -> str:
    """The first thing in the text that mail programs and pages may make a link; empty where there is none.

    >>> first_address("Ada, see https://example.org/x now"), first_address("J.R.R. Tolkien")
    ('https://example.org/x', '')
    """
    address = re.search(r"\w*://\S*|\bwww\.\S+", text, re.IGNORECASE)
    return address[0] if address else ""


def name_character(char: str) -> str:
    r"""The character in words: what is called by name, else its number in Unicode.

    >>> name_character("\t"), name_character("\x07"), name_character("\u200b"), name_character("é")
    ('a tab', 'the control character U+0007', 'the character U+200B (zero width space)', '“é”')
    """
    known = {"\n": "a line break", "\r": "a line break", "\t": "a tab", "\0": "the character NUL", "\\": "a backslash"}
    if char in known or char in LINE_BREAKS:
        return known.get(char, "a line break")
    if char.isprintable():
        return "a blank" if char == " " else f"“{char}”"
    called = unicodedata.name(char, "").lower()
    return f"the character U+{ord(char):04X} ({called})" if called else f"the control character U+{ord(char):04X}"


def first_control_character(text: str) -> str:
    r"""The first of them in words, with its place; empty where there is none.

    >>> first_control_character("ab\tc")
    'a tab in place 3'
    """
    place = next((place for place, char in enumerate(text, start=1) if is_control_character(char)), 0)
    return f"{name_character(text[place - 1])} in place {place}" if place else ""


def first_unprintable(text: str) -> str:
    """The first character that shows nothing, in words with its place; empty where there is none.

    >>> first_unprintable("a\u00adb")
    'the character U+00AD (soft hyphen) in place 2'
    """
    place = next((place for place, char in enumerate(text, start=1) if not char.isprintable()), 0)
    return f"{name_character(text[place - 1])} in place {place}" if place else ""


def is_control_character(char: str) -> bool:
    """True for characters that show nothing and break lines, formats or the order of what is shown."""
    is_no_character = ord(char) & 0xFFFE == 0xFFFE
    return unicodedata.category(char) in ("Cc", "Cs") or char in LINE_BREAKS or char in BIDI_CONTROLS or is_no_character


def free_name(base: str, taken: Collection[str], join: str = "-") -> str:
    """The name, with a number behind it where it is taken.

    >>> free_name("main", ["main", "main-2"])
    'main-3'
    """
    names = chain([base], (f"{base}{join}{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def quantity(number: int, singular: str, plural: str = "") -> str:
    """The number with its noun, whose plural ends in s unless it is given.

    >>> quantity(1, "row"), quantity(2000, "row"), quantity(2, "person", "people")
    ('1 row', '2,000 rows', '2 people')
    """
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def on_one_line(text: str) -> str:
    r"""The text with a blank for each control character.

    >>> on_one_line("a\nb\x0bc")
    'a b c'
    """
    return "".join(" " if is_control_character(char) else char for char in text)


def without_control_characters(text: str) -> str:
    """The text without control characters, but for line breaks and tabs."""
    return "".join(" " if is_control_character(char) and char not in "\n\r\t" else char for char in text)


def is_placeholder(terms: str) -> bool:
    """True for terms that say nothing: an empty file, `TODO`, or the sentence of an export without rules.

    >>> [is_placeholder(text) for text in ("# Terms\\nTODO", "<h1>Rules</h1>to be announced", "Be fair.")]
    [True, True, False]
    """
    plain = MARKUP.sub(" ", terms)
    words = re.findall(r"\w+", plain.lower())
    if "<img" in terms or "![" in terms:
        return False  # a picture may hold them
    return "lorem ipsum" in " ".join(words) or NO_TERMS in plain or all(map(PLACEHOLDER_WORD.fullmatch, words))

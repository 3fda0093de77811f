"""A post's text by itself: its bounds, and the mentions, words, links and numbers in it. No database."""

import re
from typing import Final, NamedTuple

from django.core.exceptions import ValidationError

from competitions.discussions.models import MAX_POST, MAX_TITLE, MAX_WORD
from competitions.discussions.refusals import POST_EMPTY, POST_TOO_LONG, POST_TOO_MANY_LINES, TITLE_WRONG
from core.fields import one_line

MAX_LINES: Final = 2_000
MANY_ROWS: Final = 100  # of data: organizers look at it first, as it may be labels
MOST_WORDS: Final = 300  # of one post, by which it can be found
MAX_QUOTED: Final = 2_000  # characters

FENCE: Final = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
CODE: Final = re.compile(r"`[^`\n]*`")
FORMULA: Final = re.compile(r"(?<!\\)\$\$.*?\$\$|(?<![\\\w])\$(?!\s)[^$\n]*(?<!\s)\$(?!\d)", re.DOTALL)
PERSON: Final = re.compile(r"(?<![\w@/.+-])@([\w.+-]{1,150})")
TEAM: Final = re.compile(r"(?<![\w@/.+-])@\[([^\[\]\n]{1,60})\]")
WORD: Final = re.compile(r"\w{2,}")
LINK: Final = re.compile(r"https?://|www\.|\]\(|^ {0,3}\[[^\[\]\n]{1,200}\]:", re.IGNORECASE | re.MULTILINE)
# A decimal number with two digits after the point or with an exponent: no version, no date, no amount of whole things.
SCORE: Final = re.compile(
    r"(?<![\w.-])-?(?:(?:\d{0,6}\.|0,)\d{2,17}(?:e[+-]?\d{1,3})?|\d{1,6}(?:\.\d)?e[+-]?\d{1,3})%?(?![\w.]*\w)",
    re.IGNORECASE,
)
NUMBER: Final = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
CELLS: Final = re.compile(r"[\s,;|]+")


class Mentions(NamedTuple):
    """User names and names of teams that a text mentions, in lower case."""

    people: frozenset[str]
    teams: frozenset[str]

    def __len__(self) -> int:
        return len(self.people) + len(self.teams)


def checked_text(text: str) -> str:
    """The text as it is stored. Raises `POST_EMPTY`, `POST_TOO_LONG` or `POST_TOO_MANY_LINES`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip("\n ")
    if not text.strip():
        raise POST_EMPTY()
    if (lines := text.count("\n") + 1) > MAX_LINES:
        raise POST_TOO_MANY_LINES(lines=lines, limit=MAX_LINES)
    if len(text) > MAX_POST:
        raise POST_TOO_LONG(characters=len(text))
    return text


def checked_title(title: str) -> str:
    """The title on one line. Raises `TITLE_WRONG`."""
    title = title.strip()
    if not title:
        raise TITLE_WRONG(detail="The topic has no title. Say in a few words what it is about.")
    if len(title) > MAX_TITLE:
        raise TITLE_WRONG(detail=f"The title has {len(title)} characters; at most {MAX_TITLE} are allowed. Shorten it.")
    try:
        one_line(title)
    except ValidationError as error:
        raise TITLE_WRONG(detail=f"Title: {' '.join(error.messages)}") from error
    return title


def mentions(text: str) -> Mentions:
    """Whom the text mentions, as `@name` and `@[Team name]`; nobody in code, formulas and quotes.

    >>> mentions("@ada, ask @[Team 7].")
    Mentions(people=frozenset({'ada'}), teams=frozenset({'team 7'}))
    """
    prose = FORMULA.sub("", CODE.sub("", FENCE.sub("", text)))
    prose = "\n".join(line for line in prose.split("\n") if not line.lstrip().startswith(">"))
    people = (name.rstrip(".") for name in PERSON.findall(prose))
    return Mentions(
        frozenset(name.lower() for name in people if name),
        frozenset(name.strip().lower() for name in TEAM.findall(prose)),
    )


def words(text: str) -> list[str]:
    """The words by which a text is found: the first ones, in lower case, cut to their beginnings.

    >>> words("A seed, the SEED: 42")
    ['seed', 'the', '42']
    """
    distinct: dict[str, None] = {}
    for match in WORD.finditer(text.lower()):
        distinct[match[0][:MAX_WORD]] = None
        if len(distinct) == MOST_WORDS:
            break
    return list(distinct)


def score_like_number(text: str) -> str | None:
    """The first number in a text that looks like a score; it is compared with nothing.

    >>> [score_like_number(text) for text in ("MAE 0.0871!", "a,0,087", "8.7e-2", "numpy 1.26.4 on 2030-05-01, 3.5 h")]
    ['0.0871', '0,087', '8.7e-2', None]
    """
    match = SCORE.search(text)
    return match[0] if match else None


def has_link(text: str) -> bool:
    """True for a text with a link or an image."""
    return LINK.search(text) is not None


def data_rows(text: str) -> int:
    """The number of lines that look like rows of data: numbers with one name at most.

    >>> data_rows("id,label\\n17,0.5\\n18,1\\nepoch 3 loss 0.5")
    2
    """
    return sum(_is_row(line) for line in text.split("\n"))


def _is_row(line: str) -> bool:
    cells = [cell for cell in CELLS.split(line.strip()) if cell]
    numbers = sum(NUMBER.fullmatch(cell) is not None for cell in cells)
    return numbers > 0 and len(cells) - numbers <= 1


def quoted(text: str, author: str) -> str:
    """A post's text as the beginning of a reply to it."""
    lines = (f"> {line}" for line in text[:MAX_QUOTED].split("\n"))
    return f"@{author} wrote:\n\n" + "\n".join(lines) + "\n\n"

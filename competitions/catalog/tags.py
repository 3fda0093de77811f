"""Tags of competitions: few, short, and written the same way by everybody."""

import unicodedata
from collections.abc import Iterable

from competitions.catalog.models import MOST_TAGS, TAG_LENGTH, Competition
from core.refusals import Refusal
from files.text import first_unprintable
from workers.protocol.texts import printable


class TagsInvalid(Refusal):
    code, http_status = "tags_invalid", 422


def clean_tag(text: str) -> str:
    """A tag as it is stored: lower case, without white space at its ends and with single blanks inside.

    >>> clean_tag("  Graph   Neural NETWORKS ")
    'graph neural networks'
    """
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def clean_tags(texts: Iterable[str]) -> list[str]:
    """Tags as they are stored, each once, in their order. Raises `TagsInvalid`."""
    names = list(dict.fromkeys(name for text in texts if (name := clean_tag(text))))
    for name in names:
        if len(name) > TAG_LENGTH or "," in name or not name.isprintable():
            raise TagsInvalid(
                f"The tag “{printable(name)}” cannot be used: a tag has at most {TAG_LENGTH} visible characters and no comma"
                f"{f'; there is {hidden}' if (hidden := first_unprintable(name)) else ''}."
            )
    if len(names) > MOST_TAGS:
        raise TagsInvalid(f"These are {len(names)} tags; a competition has at most {MOST_TAGS}. Leave some out.")
    return names


def tags_set(*, competition: Competition, names: Iterable[str]) -> None:
    """Replace the competition's tags. Raises `TagsInvalid`; then nothing is changed."""
    cleaned = clean_tags(names)
    competition.tag_line = "".join(f",{name}" for name in cleaned) + "," * bool(cleaned)
    competition.save(update_fields=["tag_line"])

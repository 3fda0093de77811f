"""Changes to what an organizer defines that are more than saving a form: rules, reveal, tags."""

import unicodedata
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Max
from django.dispatch import Signal

from competitions.catalog.models import MOST_TAGS, TAG_LENGTH, Competition, Format, Phase, RulesVersion
from core.refusals import Conflict, Refusal, RefusalKind
from files.text import first_unprintable, is_placeholder
from workers.protocol.texts import printable

RULES_SAY_NOTHING: Final = RefusalKind(
    422,
    "rules_say_nothing",
    "This text stands in the place of rules that nobody has written yet. Write the rules: whoever takes part accepts them.",
)

# Sent with `phase`, inside the transaction that revealed its scores.
phase_revealed = Signal()


def current_rules(competition: Competition) -> RulesVersion | None:
    """The newest version of the rules, or None when there are none yet."""
    return competition.rules_versions.order_by("-number").first()


@transaction.atomic
def rules_publish(
    *, competition: Competition, text: str, now: datetime, form: Format = Format.MARKDOWN
) -> RulesVersion:
    """Publish the text as the next version; the same text again is not a new version.

    Texts that differ in the kind of their line ends or in white space at their end alone are the same. Raises `RULES_SAY_NOTHING`.
    """
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # rows that point at it are still made
    newest = current_rules(competition)
    if newest is not None and newest.format == form and same_text(newest.text, text):
        return newest
    if is_placeholder(text):
        raise RULES_SAY_NOTHING()
    highest = competition.rules_versions.aggregate(highest=Max("number"))["highest"] or 0
    published = RulesVersion.objects.create(
        competition=competition, number=highest + 1, text=text, format=form, published_at=now
    )
    competition.rules_number = published.number
    competition.save(update_fields=["rules_number"])
    return published


def same_text(wording: str, other: str) -> bool:
    """True if equal but for line ends and trailing white space, which browsers and editors change."""
    first, second = (text.replace("\r\n", "\n").replace("\r", "\n").rstrip() for text in (wording, other))
    return first == second


NOT_SEALED: Final = RefusalKind(
    409, "not_sealed", "The scores of “{phase.name}” are public already; there is nothing to reveal."
)


class StillOpen(Conflict):
    code = "phase_still_open"

    def __init__(self, phase: Phase) -> None:
        until = f"until {phase.grace_ends_at:%Y-%m-%d %H:%M} UTC" if phase.grace_ends_at else "without an end"
        super().__init__(
            f"“{phase.name}” takes uploads {until}: teams could still tune to what they see, and uploads on their way after the end would "
            "not count. Confirm to reveal its scores now."
        )


@transaction.atomic
def phase_reveal(*, phase: Phase, now: datetime, before_the_end: bool = False) -> Phase:
    """Show the scores of a sealed phase to everybody, for good.

    Raises `NOT_SEALED`, or `StillOpen` unless `before_the_end` says that this is meant; then nothing is changed.
    """
    locked = Phase.objects.select_for_update(no_key=True).get(pk=phase.pk)
    if not locked.holds_sealed_scores:
        raise NOT_SEALED(phase=locked)
    if not before_the_end and not locked.is_settled(now):
        raise StillOpen(locked)
    locked.revealed_at = now
    locked.save(update_fields=["revealed_at"])
    phase_revealed.send(sender=Phase, phase=locked)
    return locked


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

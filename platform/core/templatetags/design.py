"""The design system's tags: icons, covers, avatars, and the states that come with an icon."""

import re
from functools import lru_cache
from typing import Final

from django import template
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.forms import BaseForm, BoundField
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from core.design.covers import colour_number, make_cover, name_initials

register = template.Library()
MEDALS: Final = (1, 2, 3)
MESSAGE_ICONS: Final = {"success": "circle-check", "warning": "triangle-alert", "error": "circle-x"}


@register.simple_tag
def icon(name: str) -> SafeString:
    """An icon of the sprite, which a screen reader passes over: a word always stands beside it."""
    sprite = staticfiles_storage.url("podium/icons.svg")
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', sprite, name)


@register.simple_tag
def absolute(path: str) -> str:
    """A path with the site's own address, for whoever reads the page elsewhere."""
    return path if "://" in path else settings.SITE_URL + path


@register.filter
def mail_words(text: str) -> str:
    """A text of somebody else's pages with this site's word for e-mail.

    >>> mail_words("The following email addresses")
    'The following e-mail addresses'
    """
    return re.sub(r"\b([Ee])mail\b", r"\1-mail", str(text))


@register.filter
def sentence_case(title: str) -> str:
    """A title in the site's way: the first word and names alone begin with a capital.

    >>> sentence_case("Two-Factor Authentication with GitHub: Add Email")
    'Two-factor authentication with GitHub: add e-mail'
    """
    return mail_words(re.sub(r"(?<=[\w:.,] )[A-Z][a-z]+\b|(?<=\w-)[A-Z][a-z]+\b", lambda word: word[0].lower(), title))


@register.filter
def first_wrong(form: BaseForm) -> str:
    """The name of the first field that has errors; empty where none has."""
    return next((field.name for field in form.visible_fields() if field.errors), "")


@register.filter
def focused(field: BoundField) -> SafeString:
    """The field, with the cursor in it once the page is loaded."""
    return field.as_widget(attrs={"autofocus": True})


@register.filter
def hue(name: str) -> str:
    """The class with the colours of a name."""
    return f"hue-{colour_number(name)}"


@register.simple_tag
@lru_cache(maxsize=512)  # a page of cards has many, the same on each visit
def cover(name: str) -> SafeString:
    """The drawn cover of a competition without a picture; the element around it has the `hue` class."""
    drawn = make_cover(name)
    arc = '<circle class="arc" cx="{}" cy="{}" r="{}"/>'
    bar = '<rect class="bar {}" x="{}" y="{}" width="{}" height="{}" rx="3"/>'
    return format_html(
        '<svg class="cover" viewBox="0 0 {0} {1}" preserveAspectRatio="xMaxYMax slice" aria-hidden="true">'
        '<rect class="ground" width="{0}" height="{1}"/>{2}{3}</svg>',
        drawn.width,
        drawn.height,
        format_html_join("", arc, ((drawn.centre, drawn.height, radius) for radius in drawn.radii)),
        format_html_join("", bar, ((each.kind, each.x, each.y, drawn.bar_width, each.height) for each in drawn.bars)),
    )


@register.simple_tag
def avatar(name: str, rank: int | None = None) -> SafeString:
    """A team's or a person's initials in the colours of their name; the first three ranks get a medal."""
    medal = f" medal-{rank}" if rank in MEDALS else ""
    return format_html(
        '<span class="avatar hue-{}{}" aria-hidden="true">{}</span>', colour_number(name), medal, name_initials(name)
    )


@register.filter
def message_icon(tag: str) -> str:
    """The icon of a message by its level."""
    return MESSAGE_ICONS.get(tag, "info")

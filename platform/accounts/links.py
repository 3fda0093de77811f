"""Identifiers and addresses that people put on their profile, checked before they become links."""

import re
from typing import Final
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

ORCID: Final = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]", re.ASCII)
GITHUB: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}", re.ASCII)
LONGEST_LINK: Final = 300
_is_address: Final = URLValidator(schemes=["https"])


def orcid_check_digit(digits: str) -> str:
    """The last character of an ORCID iD from its first fifteen digits (ISO 7064, MOD 11-2).

    >>> orcid_check_digit("000000021825009")
    '7'
    """
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    return "X" if rest == 10 else str(rest)


def require_orcid(text: str) -> None:
    """Raise `ValidationError` unless the text is an ORCID iD whose check digit is right."""
    if not ORCID.fullmatch(text):
        raise ValidationError(
            "An ORCID iD has four groups of four digits, such as 0000-0002-1825-0097; the last may be X.", code="orcid"
        )
    digits = text.replace("-", "")
    if orcid_check_digit(digits[:15]) != digits[15]:
        raise ValidationError(
            f"{text} is not an ORCID iD: its last character does not fit the others. Compare it with orcid.org.",
            code="orcid",
        )


def require_github_name(text: str) -> None:
    """Raise `ValidationError` unless GitHub could have a user of this name."""
    if not GITHUB.fullmatch(text):
        raise ValidationError(
            "A GitHub user name has letters, digits and single hyphens between them, without @ and address.",
            code="github",
        )


def require_web_site(text: str) -> None:
    """Raise `ValidationError` unless the text is an address of the web that begins with https://."""
    try:
        _is_address(text)
        has_user = "@" in urlsplit(text).netloc
    except (ValidationError, ValueError) as error:
        raise ValidationError(
            "Write the whole address, such as https://example.org/ada. It begins with https://.", code="website"
        ) from error
    if has_user:
        raise ValidationError("Write the address without a user name or password before the host.", code="website")


def require_ascii_link(text: str) -> None:
    """Raise `ValidationError` unless the text is such an address in ASCII: no letter looks like another."""
    require_web_site(text)
    if len(text) > LONGEST_LINK:
        raise ValidationError(
            f"The address has {len(text):,} characters; {LONGEST_LINK} are allowed.", code="link_too_long"
        )
    if not text.isascii() or not text.isprintable():
        raise ValidationError(
            "Write the address in plain ASCII, as a browser copies it: a host such as xn--bcher-kva.example, and %C3%A9 for é.",
            code="link_not_ascii",
        )

"""Whom a person means who types a user name or an e-mail address."""

import re
from typing import Final

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, Q

from files.text import name_character


def require_username_characters(text: str) -> None:
    """Raise `ValidationError` that names the first character that no user name has.

    A user name that looks like an address, or has a letter of another alphabet that looks like one of this, could be taken
    for another person's.
    """
    refused = re.search(r"[^\w.+-]", text, re.ASCII)
    if refused is None:
        return
    if refused[0] == "@":
        raise ValidationError("A user name has no @. Your e-mail address goes in its own field.")
    raise ValidationError(
        f"A user name has only letters (a to z), digits and . _ + -; there is {name_character(refused[0])} in place {refused.start() + 1}."
    )


USERNAME_VALIDATORS: Final = [require_username_characters]


def named_by(text: str) -> Q:
    """The account with this e-mail address if the text has an @, else with this user name.

    An unconfirmed address does not count: anybody can sign up with anybody's.
    """
    if "@" not in text:
        return Q(username__iexact=text)
    unconfirmed = EmailAddress.objects.filter(user=OuterRef("pk"), email__iexact=text, verified=False)
    return Q(email__iexact=text) & ~Q(Exists(unconfirmed))

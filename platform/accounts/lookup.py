"""Whom a person means who types a user name or an e-mail address."""

from typing import Final

from allauth.account.models import EmailAddress
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.validators import RegexValidator
from django.db.models import Exists, OuterRef, Q

# A user name that looks like an address could be taken for the person whose address it is.
USERNAME_VALIDATORS: Final = [
    UnicodeUsernameValidator(),
    RegexValidator("@", "A user name has no @. Your e-mail address goes in its own field.", inverse_match=True),
]


def named_by(text: str) -> Q:
    """The account with this e-mail address if the text has an @, else with this user name.

    An unconfirmed address does not count: anybody can sign up with anybody's.
    """
    if "@" not in text:
        return Q(username__iexact=text)
    unconfirmed = EmailAddress.objects.filter(user=OuterRef("pk"), email__iexact=text, verified=False)
    return Q(email__iexact=text) & ~Q(Exists(unconfirmed))

"""Facts about the site for the pages of signing in and signing up."""

from typing import Final

from django import template
from django.conf import settings

register = template.Library()
LOCAL: Final = ("filebased", "console", "dummy")


@register.simple_tag
def mail_is_sent() -> bool:
    """True if mail leaves this site; otherwise it goes to a folder or log that only the administrator reads."""
    return settings.EMAIL_DELIVERY_BACKEND.split(".")[-2] not in LOCAL

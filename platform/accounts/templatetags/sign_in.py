"""What pages of signing in and up have to know about the site."""

from typing import Final

from django import template
from django.conf import settings

register = template.Library()
LOCAL: Final = ("filebased", "console", "dummy")


@register.simple_tag
def mail_is_sent() -> bool:
    """Whether letters leave this site; else they go to a folder or a log that its administrator alone reads."""
    return settings.EMAIL_DELIVERY_BACKEND.split(".")[-2] not in LOCAL

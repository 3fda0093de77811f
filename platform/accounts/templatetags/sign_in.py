"""Facts about the site for the pages of signing in and signing up."""

from django import template
from django.conf import settings

from core.health import NO_MAIL_SERVER

register = template.Library()


@register.simple_tag
def mail_is_sent() -> bool:
    """True if mail leaves this site; otherwise only the administrator reads it, in a folder or log."""
    return settings.EMAIL_DELIVERY_BACKEND.split(".")[-2] not in NO_MAIL_SERVER


@register.simple_tag
def mail_folder() -> str:
    """The folder to which an embedded site writes its mails; empty if it has none."""
    is_written = settings.EMBEDDED and settings.EMAIL_DELIVERY_BACKEND.split(".")[-2] == "filebased"
    return str(settings.EMAIL_CONFIG["EMAIL_FILE_PATH"]) if is_written else ""

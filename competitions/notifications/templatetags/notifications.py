"""The bell in the head of every page."""

from typing import Final

from django import template

from accounts.models import User
from competitions.notifications.services import unread_count

register = template.Library()
MOST_SHOWN: Final = 99


@register.simple_tag
def unread_notifications(user: User) -> str:
    """How many notifications wait, as the bell says it; empty for none."""
    count = unread_count(user)
    return f"{MOST_SHOWN}+" if count > MOST_SHOWN else str(count or "")

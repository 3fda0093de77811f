"""The bell in the head of every page."""

from typing import Final

from django import template
from django.template import Context

from competitions.notifications.services import unread_count
from competitions.web.visit import Visit

register = template.Library()
MOST_SHOWN: Final = 99


@register.simple_tag(takes_context=True)
def unread(context: Context) -> str:
    """How many notifications wait, as the bell says it; empty for none. Pages of a competition have counted them already."""
    visited = context.get("visit")
    count = visited.facts.unread if isinstance(visited, Visit) else unread_count(context["user"])
    return f"{MOST_SHOWN}+" if count > MOST_SHOWN else str(count or "")

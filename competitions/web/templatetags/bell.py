"""The bell in the head of every page."""

from django import template
from django.template import Context

from competitions.notifications.services import MOST_COUNTED, unread_count
from competitions.web.visit import Visit

register = template.Library()


@register.simple_tag(takes_context=True)
def unread(context: Context) -> str:
    """The number of unread notifications as the bell shows it; empty for none.

    Pages that ask the database anyway have counted them already.
    """
    visited, counted = context.get("visit"), context.get("unread_count")
    if isinstance(visited, Visit):
        counted = visited.facts.unread
    count: int = unread_count(context["user"]) if counted is None else counted
    return f"{MOST_COUNTED - 1}+" if count >= MOST_COUNTED else str(count or "")

"""The state of the site for the administrator's first page."""

from django import template

from core.health import degraded

register = template.Library()


@register.simple_tag
def degraded_parts(said_below: str = "") -> list[str]:
    """Services that are away while the site serves without them, but for the part that is `said_below`."""
    return [part for part in degraded() if part.partition(":")[0] != said_below]

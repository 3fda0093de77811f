"""The state of the site for the administrator's first page."""

from django import template

from core.health import degraded

register = template.Library()


@register.simple_tag
def degraded_parts() -> list[str]:
    """Services that are away while the site serves without them."""
    return degraded()

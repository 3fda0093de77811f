"""What the administrator's first page says of the site itself."""

from django import template

from core.health import degraded

register = template.Library()


@register.simple_tag
def degraded_parts() -> list[str]:
    """What is away now although the site serves without it."""
    return degraded()

"""Dates of forms, for pages that say them in the reader's own zone, too."""

from datetime import datetime

from django import template
from django.core.exceptions import ValidationError
from django.forms import BoundField

from competitions.organize.steps.common import Moment

register = template.Library()


@register.filter
def moment(field: BoundField) -> datetime | None:
    """The date that stands in a field for one; None in any other field, or if it is none."""
    if not isinstance(field.field, Moment):
        return None
    try:
        return field.field.to_python(field.value())
    except ValidationError:
        return None

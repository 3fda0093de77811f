"""Sentences on what a change does to teams, which are read and confirmed before it is saved.

Apps above this one add their own with `@impact_check(Phase)`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Model

from competitions.catalog.models import Phase

# Values by field of a model, each of its field's type: the models say which, and no checker can know.
FieldValues = Mapping[str, Any]
Check = Callable[[Any, FieldValues, datetime], Iterator[str]]
_checks: defaultdict[type[Model], list[Check]] = defaultdict(list)


def impact_check(model: type[Model]) -> Callable[[Check], Check]:
    """Add a check to `change_impact`, called with the stored row, the changed fields, and the instant."""

    def add(check: Check) -> Check:
        _checks[model].append(check)
        return check

    return add


def change_impact(stored: Model, changes: FieldValues, now: datetime) -> list[str]:
    """Sentences on the effects of these changes; none if nobody relies on the row or is affected."""
    if isinstance(stored, Phase) and now < stored.opens_at:
        return []
    return [sentence for check in _checks[type(stored)] for sentence in check(stored, changes, now)]


Cost = Callable[[Phase], Iterator[str]]
_costs: list[Cost] = []


def phase_cost(cost: Cost) -> Cost:
    """Add to `phase_costs`."""
    _costs.append(cost)
    return cost


def phase_costs(phase: Phase) -> list[str]:
    """Sentences on what the phase costs by itself, beside what teams submit; before it opens, too."""
    return [sentence for cost in _costs for sentence in cost(phase)]


def utc(at: datetime | None) -> str:
    """An instant as sentences say it."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "never"

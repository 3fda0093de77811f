"""Steps of every change: compare with the stored row under its lock, check, write, signal.

Models decide what a field may be. A change of a row that teams rely on comes with sentences on its effects, which are read and
confirmed before it is saved; apps above this one add their own with `@impact_check(Phase)`.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import Manager, Model
from django.dispatch import Signal

from competitions.catalog.models import Phase
from core.confirmations import require_confirmation
from core.rows import RowT, get_or_none

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


Related = Mapping[str, Collection[Model]]
Fault = tuple[str, str]  # a field, or NON_FIELD_ERRORS, and a sentence on what is wrong with it

# Sent with `change` and `now` in the transaction that writes; the sender is the model. A receiver that raises undoes the change.
definition_changed = Signal()


@dataclass(frozen=True)
class Change(Generic[RowT]):
    """A written row. `before` is the stored one, None if new; `fields` are those that differ."""

    row: RowT
    before: RowT | None
    fields: frozenset[str]


def changed_values(stored: Model, values: FieldValues) -> dict[str, object]:
    """The values, by field, that differ from what is stored; names that are no field of it are left out."""
    fields = {field.name: field for field in type(stored)._meta.concrete_fields}
    many = {field.name for field in type(stored)._meta.many_to_many}
    keys = {name: value.pk if isinstance(value, Model) else value for name, value in values.items()}
    changed = {
        name: value
        for name, value in values.items()
        if name in fields and keys[name] != getattr(stored, fields[name].attname)
    }
    for name in many & set(values):
        if set(values[name] or ()) != set(getattr(stored, name).all()):
            changed[name] = values[name]
    return changed


def editable_values(row: Model) -> dict[str, object]:
    """The values of the row that people may set, by field; related rows by their number."""
    return {field.name: getattr(row, field.attname) for field in type(row)._meta.concrete_fields if field.editable}


def change_to(row: RowT, related: Related | None = None, *, is_checked: bool = True) -> Change[RowT]:
    """The change to be written, read under the row's lock. `related`: rows of other tables, by field.

    Raises `ValidationError` for invalid values, unless the caller has checked them together with others.
    """
    stored: RowT | None = None
    if row.pk is not None:
        rows: Manager[RowT] = type(row)._default_manager
        stored = get_or_none(rows.select_for_update(of=("self",), no_key=True).filter(pk=row.pk))
    values = editable_values(row) | dict(related or {})
    changed = frozenset(values if stored is None else changed_values(stored, values))
    if changed and is_checked:
        _validate(row, unchanged=set(values) - changed)
    return Change(row, stored, changed)


def _validate(row: Model, *, unchanged: set[str]) -> None:
    """Validate as `full_clean` does, except single fields that stay; combinations are always checked."""
    row.clean_fields(exclude=unchanged)
    row.clean()
    row.validate_unique()
    row.validate_constraints()


def require_faultless(faults: Collection[Fault]) -> None:
    """Raise `ValidationError` with every fault at its field."""
    if faults:
        named = {field or NON_FIELD_ERRORS for field, _ in faults}
        raise ValidationError(
            {name: [text for field, text in faults if (field or NON_FIELD_ERRORS) == name] for name in named}
        )


def change_row(
    row: RowT,
    faults: Callable[[Change[RowT]], Iterable[Fault]],
    *,
    now: datetime,
    confirmed: object,
    related: Related | None = None,
) -> Change[RowT]:
    """Store an edited row, new or changed; `confirmed` comes from `NeedsConfirmation`.

    Raises `ValidationError` by field, `NeedsConfirmation`, or what a receiver of the change refuses; then nothing is written.
    """
    change = change_to(row, related)
    require_faultless(list(faults(change)))
    if change.before is not None:
        values = editable_values(row) | dict(related or {})
        require_agreement(change.before, values, confirmed=confirmed, now=now)
    return write(change, now, related)


def require_agreement(stored: Model, values: Mapping[str, object], *, confirmed: object, now: datetime) -> None:
    """Raise `NeedsConfirmation` where the change does something to teams that was not agreed to."""
    state = {
        field.name: field.value_from_object(stored) for field in type(stored)._meta.concrete_fields if field.editable
    }
    require_confirmation(change_impact(stored, changed_values(stored, values), now), state, confirmed)


def write(change: Change[RowT], now: datetime, related: Related | None = None) -> Change[RowT]:
    """Store the fields that differ, and tell who listens."""
    if not change.fields:
        return change
    row, columns = change.row, {field.name for field in type(change.row)._meta.concrete_fields}
    if change.before is None:
        row.save()
    else:
        row.save(update_fields=sorted(change.fields & columns))
    for name, rows in (related or {}).items():
        getattr(row, name).set(rows)
    definition_changed.send(sender=type(row), change=change, now=now)
    return change

"""The one place where a phase is written: under its lock, with what the change does to teams, and for all who need to hear of it.

Forms of the workspace and of the admin, the API, imports and pushes call it. What a field may be is the models' to say; what
fields may be together, `rules.py`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model
from django.dispatch import Signal

from competitions.catalog.models import Phase, Task
from competitions.catalog.phases.impact import phase_impact
from competitions.catalog.phases.rules import faults_of_change
from core.confirmations import require_confirmation

TASKS = "tasks"

# Sent with `change` and `now` in the transaction that writes the phase. A receiver that raises undoes it.
phase_changed = Signal()


@dataclass(frozen=True)
class PhaseChange:
    """A phase that was written. `before` is as it was stored, None for a new one; `fields` are those that differ."""

    phase: Phase
    before: Phase | None
    fields: frozenset[str]


def changes_of(stored: Phase, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values, by field, that differ from what is stored; names that are no field of a phase are left out."""
    fields = {field.name: field for field in Phase._meta.concrete_fields}
    changes = {
        name: value
        for name, value in values.items()
        if name in fields and _plain(value) != getattr(stored, fields[name].attname)
    }
    if TASKS in values and set(values[TASKS] or ()) != set(stored.tasks.all()):
        changes[TASKS] = values[TASKS]
    return changes


def _plain(value: Any) -> Any:
    """A row by its number, as its column has it."""
    return value.pk if isinstance(value, Model) else value


def require_impact_confirmed(stored: Phase, values: Mapping[str, Any], *, confirmed: object, now: datetime) -> None:
    """Raise `NeedsConfirmation` where the change does something to teams that was not agreed to."""
    state = {field.name: field.value_from_object(stored) for field in Phase._meta.concrete_fields}
    require_confirmation(phase_impact(stored, changes_of(stored, values), now), state, confirmed)


@transaction.atomic
def change_phase(phase: Phase, *, tasks: Collection[Task], now: datetime, confirmed: object = "") -> PhaseChange:
    """Store what somebody entered for a phase, new or changed; `confirmed` is what `NeedsConfirmation` gave out.

    Raises `ValidationError` by field, `NeedsConfirmation`, or what a receiver of `phase_changed` refuses; then nothing is written.
    """
    change = _change_to(phase, tasks)
    before = change.before or Phase(competition=phase.competition)
    entered = {name: getattr(phase, name) for name in ("visibility", "dataset_check", "smoke_task")} | {TASKS: tasks}
    if faults := list(faults_of_change(before, phase.competition, entered)):
        raise ValidationError({field: [text for name, text in faults if name == field] for field, _ in faults})
    if change.before is not None:
        values = _values_of(phase) | {TASKS: tasks}
        require_impact_confirmed(change.before, values, confirmed=confirmed, now=now)
    return _store(change, tasks, now)


@transaction.atomic
def store_phase(phase: Phase, *, tasks: Collection[Task], now: datetime) -> PhaseChange:
    """Write a phase and tell who listens. For imports, which look at their whole difference by themselves.

    Raises `ValidationError`, or what a receiver of `phase_changed` refuses; then nothing is written.
    """
    return _store(_change_to(phase, tasks), tasks, now)


def _change_to(phase: Phase, tasks: Collection[Task]) -> PhaseChange:
    """The change that storing it would be, read under the phase's lock. Raises `ValidationError` for values that it may not have."""
    stored = Phase.objects.select_for_update(of=("self",), no_key=True).filter(pk=phase.pk).first()
    values = _values_of(phase) | {TASKS: tasks}
    changes = frozenset(values if stored is None else changes_of(stored, values))
    if changes:
        _validate(phase, unchanged=set(values) - changes)
    return PhaseChange(phase, stored, changes)


def _validate(phase: Phase, *, unchanged: set[str]) -> None:
    """As `full_clean`, without asking again of each field that stays; fields together are asked about always."""
    phase.clean_fields(exclude=unchanged)
    phase.clean()
    phase.validate_unique()
    phase.validate_constraints()


def _store(change: PhaseChange, tasks: Collection[Task], now: datetime) -> PhaseChange:
    if change.fields:
        change.phase.save()
        change.phase.tasks.set(tasks)
        phase_changed.send(sender=Phase, change=change, now=now)
    return change


def _values_of(phase: Phase) -> dict[str, Any]:
    return {field.name: getattr(phase, field.attname) for field in Phase._meta.concrete_fields}

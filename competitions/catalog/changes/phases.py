"""Phases: written, with the tasks that they run, and what a change does to teams."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from django.db import transaction

from competitions.catalog.changes.change import (
    Change,
    change_to,
    editable_values,
    require_agreement,
    require_faultless,
    write,
)
from competitions.catalog.changes.impact import FieldValues, impact_check, utc
from competitions.catalog.changes.phase_rules import faults_of_change
from competitions.catalog.models import Phase, Task

RULED: Final = ("visibility", "dataset_check", "smoke_task")  # fields that the rules ask about, beside the tasks


@transaction.atomic
def change_phase(phase: Phase, *, tasks: Collection[Task], now: datetime, confirmed: object = "") -> Change[Phase]:
    """Store an edited phase, new or changed; `confirmed` comes from `NeedsConfirmation`.

    Raises `ValidationError` by field, `NeedsConfirmation`, or what a receiver of the change refuses; then nothing is written.
    """
    related = {"tasks": tasks}
    change = change_to(phase, related)
    before = change.before or Phase(competition=phase.competition)
    entered = {name: getattr(phase, name) for name in RULED} | related
    require_faultless(list(faults_of_change(before, phase.competition, entered)))
    if change.before is not None:
        require_agreement(change.before, editable_values(phase) | related, confirmed=confirmed, now=now)
    return write(change, now, related)


@transaction.atomic
def store_phase(phase: Phase, *, tasks: Collection[Task], now: datetime) -> Change[Phase]:
    """Write a phase and tell who listens. For imports, which look at their whole difference by themselves.

    Raises `ValidationError`, or what a receiver of the change refuses; then nothing is written.
    """
    related = {"tasks": tasks}
    return write(change_to(phase, related), now, related)


@impact_check(Phase)
def dates_move(phase: Phase, changes: FieldValues, now: datetime) -> Iterator[str]:
    if "opens_at" in changes:
        yield f"The phase has been open since {utc(phase.opens_at)}; its start would be {utc(changes['opens_at'])}."
    if "closes_at" not in changes:
        return
    closes_at = changes["closes_at"]
    yield f"Its end moves from {utc(phase.closes_at)} to {utc(closes_at)}. Everybody who still may submit is told."
    if closes_at is not None and closes_at <= now:
        yield "The new end has passed, so the phase closes at once."
    elif phase.closes_at is not None and phase.closes_at <= now:
        yield "The phase has closed and would be open again."


@impact_check(Phase)
def scores_were_seen(phase: Phase, changes: FieldValues, now: datetime) -> Iterator[str]:
    if changes.get("visibility") == Phase.Visibility.SEALED:
        yield "Scores that everybody has seen so far would be sealed; whoever kept them still has them."


@impact_check(Phase)
def announced_settings_change(phase: Phase, changes: FieldValues, now: datetime) -> Iterator[str]:
    if "slug" in changes and phase.competition.is_published:
        yield f"Its address changes: links, feeds and programs that name “{phase.slug}” find nothing."
    grace = changes.get("upload_grace_minutes")
    if grace is not None and grace < phase.upload_grace_minutes:
        yield f"The grace for uploads shrinks from {phase.upload_grace_minutes} to {grace} minutes."
    if changes.get("accepts_late") is False:
        yield "Late submissions would no longer be taken."
    if "reveal_at" in changes:
        yield f"The planned reveal moves from {utc(phase.reveal_at)} to {utc(changes['reveal_at'])}."
    if "prediction_format" in changes:
        yield "Uploads would be checked against another file format from now on; those that were made stay as they are."

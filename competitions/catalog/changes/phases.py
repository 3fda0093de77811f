"""Phases: written, with the tasks that they run; rules by field; and what a change does to teams."""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from competitions.catalog.changes.change import (
    Change,
    Fault,
    FieldValues,
    change_row,
    change_to,
    impact_check,
    utc,
    write,
)
from competitions.catalog.models import Competition, Phase, Task
from competitions.catalog.models.sections.runs import Isolation
from competitions.catalog.queue_rights import seal_fault, task_fault, tasks_run_by
from competitions.catalog.sealed_keys import published_by

RULED: Final = (
    "visibility",
    "dataset_check",
    "smoke_task",
    "isolation",
    "gpus",
)  # fields that the rules ask about, beside the tasks

DAY: Final = timedelta(days=1)
NO_GPU_IN_SANDBOX: Final = "gVisor gives programs no GPU here. Choose a container, or take the GPU out of the budget."


@transaction.atomic
def change_phase(phase: Phase, *, tasks: Collection[Task], now: datetime, confirmed: object = "") -> Change[Phase]:
    """Store an edited phase, new or changed, with its tasks. Raises as `change_row`."""
    related = {"tasks": tasks}
    entered = {name: getattr(phase, name) for name in RULED} | related

    def faults(change: Change[Phase]) -> Iterator[Fault]:
        return faults_of_change(change.before or Phase(competition=phase.competition), phase.competition, entered)

    return change_row(phase, faults, now=now, confirmed=confirmed, related=related)


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
    yield f"Its end moves from {utc(phase.closes_at)} to {utc(closes_at)}. Everybody who can still submit will be told."
    if closes_at is not None and closes_at <= now:
        yield "The new end has passed, so the phase closes at once."
    elif phase.closes_at is not None and phase.closes_at <= now:
        yield "The phase has closed and would be open again."
    elif closes_at is not None and closes_at - now < DAY and (phase.closes_at is None or closes_at < phase.closes_at):
        yield "Less than 24 hours are left until the new end."
    if phase.reveal_at is not None and phase.revealed_at is None and "reveal_at" not in changes:
        before = closes_at is None or phase.reveal_at < closes_at
        advice = " That is before the new end: change “reveal planned for” to move it, too." if before else ""
        yield f"The scores are still planned to be revealed on {utc(phase.reveal_at)}.{advice}"


@impact_check(Phase)
def scores_were_seen(phase: Phase, changes: FieldValues, now: datetime) -> Iterator[str]:
    if changes.get("visibility") == Phase.Visibility.SEALED:
        yield "Scores that everybody has seen so far would be sealed; whoever kept them still has them."


@impact_check(Phase)
def announced_settings_change(phase: Phase, changes: FieldValues, now: datetime) -> Iterator[str]:
    if "slug" in changes and phase.competition.is_published:
        yield f"Its address changes: links, feeds and programs that use “{phase.slug}” will stop working."
    grace = changes.get("upload_grace_minutes")
    if grace is not None and grace < phase.upload_grace_minutes:
        yield f"The upload grace period shrinks from {phase.upload_grace_minutes} to {grace} minutes."
    if changes.get("accepts_late") is False:
        yield "Late submissions would no longer be taken."
    if "reveal_at" in changes:
        yield f"The planned reveal moves from {utc(phase.reveal_at)} to {utc(changes['reveal_at'])}."
    if "prediction_format" in changes:
        yield "Uploads would be checked against another file format from now on; those that were made stay as they are."


def faults_of_change(phase: Phase, competition: Competition | None, entered: FieldValues) -> Iterator[Fault]:
    """Fields and their faults. `phase` is the stored row or a new one; `entered` has the form's values."""
    tasks, check = list(entered.get("tasks") or []), entered.get("dataset_check")
    smoke = entered.get("smoke_task")
    for field, task in _entered_tasks(entered):
        if competition is not None and _is_foreign(task, phase, competition):
            yield field, f"The task “{task}” belongs to somebody else, who has not shared it."
    if competition is not None:
        yield from _queue_faults(competition, phase, entered)
    if check is not None and check in tasks:
        yield "dataset_check", "The check is run on datasets alone: take it out of the phase's tasks."
    if smoke is not None and smoke in (*tasks, check):
        yield "smoke_task", "The smoke run comes before the others: take its task out of the phase's tasks."
    if entered.get("isolation") == Isolation.SANDBOXED and entered.get("gpus"):
        yield "isolation", NO_GPU_IN_SANDBOX
    if phase.pk:
        yield from _sealed_tasks(phase, entered.get("visibility"), tasks)
        if phase.is_sealed and entered.get("visibility") == Phase.Visibility.PUBLIC and phase.submissions.exists():
            message = "This phase has submissions whose scores are sealed. To show them, use the action Reveal in the list of phases."
            yield "visibility", message


def _queue_faults(competition: Competition, phase: Phase, entered: FieldValues) -> Iterator[Fault]:
    """New tasks and sealed scores that the queue may not have; readiness reports existing ones."""
    queue = competition.queue
    known = tasks_run_by([phase]) if phase.pk else []
    for field, task in _entered_tasks(entered):
        if task not in known and (sentence := task_fault(task, queue)):
            yield field, sentence
    becomes_sealed = entered.get("visibility") == Phase.Visibility.SEALED and not (phase.pk and phase.is_sealed)
    if becomes_sealed and phase.revealed_at is None and (sentence := seal_fault(competition, queue)):
        yield "visibility", sentence


def _entered_tasks(entered: FieldValues) -> Iterator[tuple[str, Task]]:
    """Each task that the form names, with its field."""
    yield from (("tasks", task) for task in entered.get("tasks") or ())
    yield from ((field, entered[field]) for field in ("dataset_check", "smoke_task") if entered.get(field) is not None)


def _sealed_tasks(phase: Phase, visibility: str | None, tasks: Iterable[Task]) -> Iterator[Fault]:
    """Faults of a phase that would score in the open what another phase keeps sealed."""
    if visibility == Phase.Visibility.SEALED:
        return
    for key, other in published_by(phase, tasks).items():
        message = f"“{other.name}” keeps the score {key!r} sealed on one of these tasks; here everybody would see it."
        yield "tasks", message


def _is_foreign(task: Task, phase: Phase, competition: Competition) -> bool:
    """True for another's task, unless public, usable by an organizer, or in this phase already."""
    if task.competition_id == competition.pk or task.is_public or (phase.pk and task.phases.contains(phase)):
        return False
    organizers = list(competition.organizers.all())
    return not any(Task.objects.usable_by(user).filter(pk=task.pk).exists() for user in organizers)

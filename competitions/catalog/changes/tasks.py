"""Tasks: settings, programs and data, and effects of changes on boards and other users."""

from collections.abc import Collection, Iterator
from datetime import datetime

from django.db import transaction

from accounts.models import User
from competitions.catalog.changes.change import Change, Fault, FieldValues, change_row, change_to, impact_check, write
from competitions.catalog.models import Phase, Task


@transaction.atomic
def change_task(
    task: Task, *, now: datetime, confirmed: object = "", shared_with: Collection[User] | None = None
) -> Change[Task]:
    """Store an edited task, new or changed. Raises as `change_row`."""
    related = {} if shared_with is None else {"shared_with": shared_with}
    return change_row(task, faults_of_task, now=now, confirmed=confirmed, related=related)


@transaction.atomic
def store_task(task: Task, *, now: datetime) -> Change[Task]:
    """Write a task and send the signal; imports check tasks with the phases that they write next."""
    return write(change_to(task, is_checked=False), now)


def faults_of_task(change: Change[Task]) -> Iterator[Fault]:
    """Fields and their faults: a name already in use, or a check of another organizer's task."""
    task = change.row
    checked = task.checks if "checks" in change.fields else None
    if checked is not None and checked.competition_id != task.competition_id:
        yield "checks", f"The task “{checked}” belongs to another competition."
    if "name" not in change.fields or task.competition_id is None:
        return
    others = Task.objects.filter(competition=task.competition_id, dataset=None, name=task.name)
    if others.exclude(pk=task.pk).exists():
        yield "name", f"Another task of the competition is called {task.name!r}. Choose another name."


@impact_check(Task)
def boards_show_its_name(task: Task, changes: FieldValues, now: datetime) -> Iterator[str]:
    if "name" not in changes:
        return
    phases = task.phases.prefetch_related("leaderboards").order_by("index", "pk")
    boards = [
        f"“{board.title}” of {phase.name}"
        for phase in phases
        for board in phase.leaderboards.all()
        if board.shows_tasks and phase.tasks.count() > 1
    ]
    if boards:
        yield f"Columns of the boards {', '.join(boards)} are called by the new name at once."


@impact_check(Task)
def others_lose_its_use(task: Task, changes: FieldValues, now: datetime) -> Iterator[str]:
    if changes.get("is_public") is not False:
        return
    elsewhere = Phase.objects.filter(tasks=task).exclude(competition=task.competition_id)
    if count := elsewhere.values("competition").distinct().count():
        were = "competition uses" if count == 1 else "competitions use"
        yield f"{count} other {were} it and keep it; no other competition can start using it."


@impact_check(Task)
def its_files_are_opened(task: Task, changes: FieldValues, now: datetime) -> Iterator[str]:
    if changes.get("is_public_split") is True:
        yield "Where a phase runs submissions on it first, everybody who takes part may download its programs, input and labels."

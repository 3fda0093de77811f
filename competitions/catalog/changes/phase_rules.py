"""Rules of phases, said by field, whichever form or program changes them."""

from collections.abc import Iterable, Iterator

from competitions.catalog.changes.change import Fault
from competitions.catalog.changes.impact import FieldValues
from competitions.catalog.models import Competition, Phase, Task
from competitions.catalog.queue_rights import seal_fault, task_fault, tasks_run_by
from competitions.catalog.sealed_keys import published_by


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
    if phase.pk:
        yield from _sealed_tasks(phase, entered.get("visibility"), tasks)
        if phase.is_sealed and entered.get("visibility") == Phase.Visibility.PUBLIC and phase.submissions.exists():
            yield (
                "visibility",
                "This phase has submissions whose scores are sealed. To show them, use the action Reveal in the list of phases.",
            )


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
        yield (
            "tasks",
            f"“{other.name}” keeps the score {key!r} sealed on one of these tasks; here everybody would see it.",
        )


def _is_foreign(task: Task, phase: Phase, competition: Competition) -> bool:
    """True for another's task, unless public, usable by an organizer, or in this phase already."""
    if task.competition_id == competition.pk or task.is_public or (phase.pk and task.phases.contains(phase)):
        return False
    organizers = list(competition.organizers.all())
    return not any(Task.objects.usable_by(user).filter(pk=task.pk).exists() for user in organizers)

"""Rules for what may run where: the owner of a queue, and an image, can read all that is scored there."""

from collections.abc import Iterable, Iterator
from typing import Final

from django.conf import settings
from django.db.models import Q

from competitions.catalog.models import Competition, CompetitionOrganizer, Phase, Task
from competitions.compute.models import Queue
from core.refusals import RefusalKind

# A change would hand out what the queue's owner may not read.
QUEUE_NOT_ALLOWED: Final = RefusalKind(409, "queue_not_allowed", "{detail}")


def task_fault(task: Task, queue: Queue) -> str:
    """A sentence on why the task may not run on the queue; empty where it may.

    The site's own queues may have every task. Another one's owner must be able to read the task: to use it is not enough.
    """
    owner = queue.owner
    if owner is None or (owner.is_active and task.is_readable_by(owner)):
        return ""
    return (
        f"The task “{task}” may not run on the queue {queue}: its workers belong to {owner}, who may not read the task's files. "
        "Choose a queue of the site, or one whose owner may read them."
    )


def seal_fault(competition: Competition, queue: Queue) -> str:
    """A sentence on why the queue may not make sealed scores of the competition; empty where it may."""
    owner = queue.owner
    if owner is None or (owner.is_active and _sees_sealed(competition, owner.pk)):
        return ""
    return (
        f"Sealed scores may not be made on the queue {queue}: its workers belong to {owner}, who has no right to see them. "
        "Choose a queue of the site, or ask an administrator for that right."
    )


def _sees_sealed(competition: Competition, owner: int) -> bool:
    """Organizers with the right; on trial all of them, because the scores are those of their own trials."""
    row = CompetitionOrganizer.objects.filter(competition=competition, user=owner).first()
    return row is not None and (row.can_see_sealed or competition.is_trial)


def run_fault(task: Task, phase: Phase, queue: Queue) -> str:
    """A sentence on why no worker of the queue may have a run of the task in the phase now; else empty."""
    if queue.owner_id is None:
        return ""
    return task_fault(task, queue) or (seal_fault(phase.competition, queue) if phase.holds_sealed_scores else "")


def faults_on_queue(competition: Competition, queue: Queue) -> Iterator[str]:
    """A sentence for each part of the competition, as it is stored, that may not run on this queue."""
    if queue.owner_id is None:
        return
    phases = list(competition.phases.prefetch_related("leaderboards").select_related("competition"))
    if any(phase.holds_sealed_scores for phase in phases) and (fault := seal_fault(competition, queue)):
        yield fault
    yield from filter(None, (task_fault(task, queue) for task in tasks_run_by(phases)))


def tasks_run_by(phases: Iterable[Phase]) -> list[Task]:
    """Every task that runs of these phases may name, once: what is scored, checked and tried out first."""
    phases = list(phases)
    named = {pk for phase in phases for pk in (phase.smoke_task_id, phase.dataset_check_id) if pk is not None}
    return list(Task.objects.filter(Q(pk__in=named) | Q(phases__in=phases)).distinct().order_by("pk"))


def refuse_new_owner(queue: Queue, **_: object) -> None:
    """Raise `QUEUE_NOT_ALLOWED` where competitions on the queue have what its new owner may not read."""
    for competition in Competition.objects.filter(queue=queue.pk):
        if faults := list(faults_on_queue(competition, queue)):
            raise QUEUE_NOT_ALLOWED(detail=f"It runs the competition “{competition}”. {' '.join(faults)}")


def has_foreign_image(task: Task, phase: Phase) -> bool:
    """True if the phase would run another's task with its labels in an image its owner did not choose.

    An image is a program: it starts before the scoring program, and can copy what that may read. The site's own image and
    those of the task's own competition are its owner's choice.
    """
    if task.competition_id == phase.competition_id or phase.image_name == settings.DEFAULT_IMAGE:
        return False
    if task.competition is not None:
        chosen = task.competition.phases.select_related("competition")
        if phase.image_name in {task.competition.image_name, *(each.image_name for each in chosen)}:
            return False
    return is_foreign(task, phase.competition)


def is_foreign(task: Task, competition: Competition) -> bool:
    """True where some organizer of the competition may use the task and not read it."""
    if task.competition_id == competition.pk:
        return False
    return not all(task.is_readable_by(user) for user in competition.organizers.all())


def foreign_image_text(task: Task, phase: Phase) -> str:
    """The fault, and what to do about it."""
    return (
        f"The task {task.name} belongs to another organizer, and its programs may not run in the image {phase.image_name}: "
        f"an image can copy the labels. Use {settings.DEFAULT_IMAGE} or an image of its own competition, or ask for its files."
    )

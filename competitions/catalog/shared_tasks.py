"""Rules that keep the files of a shared task from organizers who may use it and not read it."""

from django.conf import settings

from competitions.catalog.models import Competition, Phase, Task


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

"""What participants may download of a phase."""

from competitions.catalog.models import Phase
from competitions.resources.models import Resource

DOWNLOADS = ("public_data", "starting_kit", "sample_submission")


def downloads_of(phase: Phase) -> dict[str, Resource]:
    """What participants may have of a phase, by the name in its address: its own files, and what the organizers opened of its tasks.

    Reference data is in none of it, whatever is opened.
    """
    found = {name: resource for name in DOWNLOADS if (resource := getattr(phase, name)) is not None}
    opened: list[str] = []
    if phase.competition.make_programs_available:
        opened += ["ingestion_program", "scoring_program"]
    if phase.competition.make_input_data_available:
        opened += ["input_data"]
    for task in phase.tasks.select_related(*(f"{name}__file" for name in opened)) if opened else ():
        for name in opened:
            if (resource := getattr(task, name)) is not None:
                found[f"{name}-{task.pk}"] = resource
    return found

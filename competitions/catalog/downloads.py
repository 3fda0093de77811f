"""What participants may download of a competition."""

from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Download:
    """A file, and by which phase and name it is reached."""

    phase: Phase
    name: str
    resource: Resource


def downloads_of_all(phases: Iterable[Phase]) -> list[Download]:
    """Everything that the phases offer; a file that several of them offer under one file name once, by the first."""
    found: dict[tuple[str, str], Download] = {}
    for phase in phases:
        for name, resource in downloads_of(phase).items():
            found.setdefault((resource.file_id, resource.file_name), Download(phase, name, resource))
    return list(found.values())

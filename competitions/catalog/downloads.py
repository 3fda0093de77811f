"""Files of a competition that participants may download."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from competitions.catalog.models import Phase, Task
from competitions.catalog.queue_rights import is_foreign
from competitions.resources.models import Resource
from files.bundles.schema import PHASE_FILES, TASK_FILES

SMOKE: Final = "smoke-"  # before the part's name


def phase_downloads(phase: Phase, now: datetime) -> dict[str, Resource]:
    """A phase's files for participants, by name in the address: its own, and those opened of its tasks.

    Input data is opened with the phase: what it is about to ask stays unknown before. Never reference data, except the labels
    of a smoke run's public split. Nothing is opened of a task that not every organizer of the competition may read.
    """
    resources = {name: resource for name in PHASE_FILES if (resource := getattr(phase, name)) is not None}
    opened: list[str] = []
    if phase.competition.make_programs_available:
        opened += ["ingestion_program", "scoring_program"]
    if phase.competition.make_input_data_available and phase.opens_at <= now:
        opened += ["input_data"]
    for task in phase.tasks.select_related(*(f"{name}__file" for name in opened)) if opened else ():
        if is_foreign(task, phase.competition):
            continue
        for name in opened:
            if (resource := getattr(task, name)) is not None:
                resources[f"{name}-{task.pk}"] = resource
    return resources | {f"{SMOKE}{name}": resource for name, resource in smoke_files(phase).items()}


def smoke_files(phase: Phase) -> dict[str, Resource]:
    """Files of the smoke run that teams may download, with labels, by part; none unless all are public."""
    if phase.smoke_task_id is None:
        return {}
    task = Task.objects.select_related(*(f"{name}__file" for name in TASK_FILES)).get(pk=phase.smoke_task_id)
    if task.hidden_part(phase.competition):
        return {}
    return {name: resource for name in TASK_FILES if (resource := getattr(task, name)) is not None}


@dataclass(frozen=True)
class Download:
    """A file, and by which phase and name it is reached."""

    phase: Phase
    name: str
    resource: Resource

    @property
    def is_of_smoke_run(self) -> bool:
        """A part of the public mini split that code runs on first."""
        return self.name.startswith(SMOKE)


def downloads_of_all(phases: Iterable[Phase], now: datetime) -> list[Download]:
    """All downloads of the phases; a file offered under one name by several is listed once."""
    downloads: dict[tuple[str, str], Download] = {}
    for phase in phases:
        for name, resource in phase_downloads(phase, now).items():
            downloads.setdefault((resource.file_id, resource.file_name), Download(phase, name, resource))
    return list(downloads.values())

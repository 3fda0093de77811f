"""A phase with a smoke run, for tests."""

from __future__ import annotations

from competitions.catalog.models import Phase, Task
from competitions.resources.models import Resource
from tests.scenario import Scenario, resource, zip_bytes

LABELS = "public labels of the mini split"


def with_smoke_run(site: Scenario, phase: Phase | None = None) -> Phase:
    """Have the phase run code on a public mini split first, whose programs are those of its hidden task."""
    phase = phase or site.phase
    hidden, kinds = phase.tasks.get(), Resource.Kind
    phase.smoke_task = Task.objects.create(
        competition=site.competition,
        name="Mini split",
        is_public_split=True,
        scoring_program=hidden.scoring_program,
        input_data=resource(site.organizer, kinds.INPUT_DATA, zip_bytes({"smiles.csv": "smiles\nO\n"})),
        reference_data=resource(site.organizer, kinds.REFERENCE_DATA, zip_bytes({"labels.txt": LABELS})),
    )
    phase.clean()
    phase.save()
    return phase

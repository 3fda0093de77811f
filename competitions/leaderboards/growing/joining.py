"""Adds checked datasets to the board: each as a task, with input and reference data apart."""

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from django.db import transaction
from django.db.models import F, QuerySet

from accounts.models import User
from competitions.catalog.models import Phase, Task
from competitions.resources.models import Resource, StoredFile
from competitions.resources.storage import local_copy, store_path
from competitions.submissions.datasets import datasets_changed
from competitions.submissions.file_checks.layouts import divided
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import Kind, State
from core.reconciler import run_guarded

log = structlog.get_logger(__name__)
MAX_NAME: Final = 60


def waiting_datasets() -> QuerySet[Submission]:
    """Datasets that passed the check of their phase and are not on its board, oldest first."""
    return Submission.objects.filter(
        phase__dataset_check__isnull=False,
        runs__task=F("phase__dataset_check"),
        kind=Kind.DATASET,
        status=State.FINISHED,
        disqualified_at=None,
        is_late=False,
        is_task_rerun=False,
        rerun_of=None,
        dataset=None,
    ).order_by("pk")


def datasets_join(*, now: datetime) -> int:
    """For the reconciler: add each checked dataset to its board once; returns how many.

    Safe to run twice, or at once; one that fails holds up no other.
    """
    waiting = waiting_datasets().select_related("phase", "file")
    return sum(run_guarded("datasets_joined", partial(_join, submission), now=now) for submission in waiting)


def _join(submission: Submission, *, now: datetime) -> bool:
    return dataset_join(submission=submission, now=now) is not None


def dataset_join(*, submission: Submission, now: datetime) -> Dataset | None:
    """Make the dataset a task with the programs of the phase's first task; None if the phase is full.

    Its input and reference data become separate files here: no container, and no worker that only runs participants'
    code, ever gets the file that holds both.
    """
    phase = submission.phase
    if Dataset.objects.on_board(phase).count() >= phase.max_datasets:
        return None
    with local_copy(submission.file) as path, divided(path) as parts:
        inputs, reference = (store_path(part) for part in parts)
    return _create_dataset(submission, phase, inputs, reference, now)


@transaction.atomic
def _create_dataset(
    submission: Submission, phase: Phase, inputs: StoredFile, reference: StoredFile, now: datetime
) -> Dataset | None:
    """The part under the phase's lock: datasets join one after the other, so the last place is given once."""
    Phase.objects.select_for_update(no_key=True).get(pk=phase.pk)
    still = waiting_datasets().filter(pk=submission.pk).exists()
    like = phase.tasks.select_related("owner", "scoring_program__owner").order_by("pk").first()
    if not still or like is None or Dataset.objects.on_board(phase).count() >= phase.max_datasets:
        return None
    name, owner = dataset_name(submission), _organizer_for(phase, like)
    task = Task.objects.create(
        competition_id=phase.competition_id,
        owner=owner,
        name=name,
        description=f"Dataset of submission #{submission.pk}",
        scoring_program=like.scoring_program,
        ingestion_program=like.ingestion_program,
        ingestion_only_during_scoring=like.ingestion_only_during_scoring,
        input_data=_resource(owner, name, Resource.Kind.INPUT_DATA, inputs),
        reference_data=_resource(owner, name, Resource.Kind.REFERENCE_DATA, reference),
    )
    dataset = Dataset.objects.create(submission=submission, task=task, name=name, joined_at=now)
    datasets_changed.send(sender=Dataset, phase=phase)
    log.info("dataset_joined", submission=submission.pk, task=task.pk)
    return dataset


def _organizer_for(phase: Phase, like: Task) -> User:
    """The organizer who owns what joins.

    Whoever made the program may have left, or only shared it, and would read labels.
    """
    made_by = like.scoring_program.owner
    organizers = phase.competition.organizers.order_by("competitionorganizer__pk")
    return organizers.filter(pk=made_by.pk).first() or organizers.first() or made_by


def _resource(owner: User, name: str, kind: Resource.Kind, file: StoredFile) -> Resource:
    """An organizer's own, so that nobody replaces what has been checked."""
    return Resource.objects.create(
        owner=owner, kind=kind, name=f"{name}: {kind.label}", file=file, file_name=f"{kind}.zip"
    )


def dataset_name(submission: Submission) -> str:
    """The dataset's name on the board: the first words of its description, else its file's name."""
    text = " ".join(submission.description.split()) or Path(submission.file_name).stem or f"Dataset {submission.pk}"
    if len(text) <= MAX_NAME:
        return text
    cut = text[: MAX_NAME - 1]
    return f"{cut.rsplit(' ', 1)[0].rstrip(' ,;:')}…" if " " in cut else f"{cut}…"

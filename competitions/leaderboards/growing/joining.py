"""Adds checked datasets to the board: each as a task, with input and reference data apart.

A dataset may be large, so its file is divided in the background.
"""

from datetime import datetime
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Phase, Task
from competitions.leaderboards.models import Joining
from competitions.resources.models import Resource, StoredFile
from competitions.resources.storage import local_copy, store_path
from competitions.submissions.datasets import datasets_changed
from competitions.submissions.file_checks.layouts import divided
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.notices import not_joined_notify
from competitions.submissions.states import Kind, State
from core.background import jobs
from core.background.rows import Claim, claims

log = structlog.get_logger(__name__)
JOINING_JOB: Final = "dataset-joining"
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
    """For the reconciler: have checked datasets join in the background; returns how many.

    No more than there are places. Safe to run twice, or at once. One that was given up is tried again once its submission was run again.
    """
    may_try = Q(joining=None) | Q(joining__has_failed=False) | Q(joining__asked_at__lt=F("finished_at"))
    waiting = waiting_datasets().filter(may_try)
    count = 0
    phases = Phase.objects.filter(pk__in=waiting.order_by().values("phase"), tasks__isnull=False)
    for phase in phases.distinct():
        oldest = waiting.filter(phase=phase)[: max(_places(phase), 0)]
        count += sum(_ask(submission, now) for submission in oldest)
    return count


def _places(phase: Phase) -> int:
    return phase.max_datasets - Dataset.objects.on_board(phase).count()


@transaction.atomic
def _ask(submission: Submission, now: datetime) -> bool:
    """Ask that the dataset joins; False if that was asked before."""
    row, is_new = Joining.objects.get_or_create(submission=submission, defaults={"asked_at": now})
    again = Joining.objects.filter(pk=row.pk, needs_work=False)
    if not is_new and not again.update(needs_work=True, has_failed=False, asked_at=now, attempts=0):
        return False
    jobs.send_after_commit(JOINING_JOB, row.pk)
    return True


def waiting_joinings() -> QuerySet[Joining]:
    """Datasets that are to join."""
    return Joining.objects.filter(needs_work=True)


@claims(waiting_joinings, "submission__phase__competition", "submission__team", "submission__file")
def joining_perform(row: Joining, claimed: Claim) -> None:
    """Let one dataset join; where it fails again and again, it is given up."""
    if row.attempts > settings.BACKGROUND_ATTEMPTS:
        with transaction.atomic():
            claimed.conclude(needs_work=False, has_failed=True)
            not_joined_notify(submission=row.submission, asked_at=row.asked_at)
        return
    with claimed.kept():
        dataset_join(submission=row.submission, now=timezone.now())
    claimed.release(needs_work=False, attempts=0)


JOINING: Final = jobs.Job(
    JOINING_JOB,
    waiting=waiting_joinings,
    perform=joining_perform,
    asked_at="asked_at",
    queue=jobs.Queue.LONG,
)


def dataset_join(*, submission: Submission, now: datetime) -> Dataset | None:
    """Make the dataset a task with the programs of the phase's first task; None if the phase is full.

    Its input and reference data become separate files here: no container, and no worker that only runs participants'
    code, ever gets the file that holds both.
    """
    phase = submission.phase
    if _places(phase) <= 0 or not waiting_datasets().filter(pk=submission.pk).exists():
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
    if not still or like is None or _places(phase) <= 0:
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

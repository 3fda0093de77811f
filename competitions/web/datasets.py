"""A submission's page for growing boards: runs on submitted datasets, or its own dataset's state."""

from dataclasses import dataclass
from typing import TypedDict

from django.db.models import Q

from competitions.leaderboards.growing.missing_runs import counting_submissions
from competitions.runs.models import Run
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import FINAL, Kind


@dataclass(frozen=True)
class DatasetStanding:
    """A submitted dataset; `run_on` of `wanted` algorithms have been run on it."""

    dataset: Dataset | None
    run_on: int = 0
    wanted: int = 0


class GrowingContext(TypedDict):
    shown_runs: list[Run]
    cells: list[Run]
    standing_dataset: DatasetStanding | None


def growing_context(submission: Submission, chosen: str) -> GrowingContext:
    """For the submission's page: runs that are shown in full, the others as `cells`, and its dataset.

    `chosen` is the run on a submitted dataset that the page was asked to show in full.
    """
    runs = list(submission.runs.all())
    return {
        "shown_runs": [run for run in runs if not run.fills_board or str(run.pk) == chosen],
        "cells": [run for run in runs if run.fills_board],
        "standing_dataset": _dataset(submission)
        if submission.kind == Kind.DATASET and submission.phase.grows
        else None,
    }


def _dataset(submission: Submission) -> DatasetStanding:
    dataset = Dataset.objects.filter(submission=submission).first()
    if dataset is None:
        return DatasetStanding(None)
    counting = counting_submissions(submission.phase)
    ended = Q(submission__in=counting.values("pk"), state__in=FINAL)
    return DatasetStanding(dataset, Run.objects.filter(ended, task=dataset.task_id).count(), counting.count())

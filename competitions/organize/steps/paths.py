"""The steps of each way to begin, in order, and how far a draft has come."""

from collections.abc import Mapping
from typing import Any, Final

from django.urls import reverse

from competitions.organize.models import CompetitionDraft, DraftFile
from competitions.organize.refusals import DraftIncomplete
from competitions.organize.steps.code import FILES, PROGRAM
from competitions.organize.steps.common import ABOUT, SCHEDULE, TEXTS
from competitions.organize.steps.dataset import DATASET, LABELS, LSC_DATASET, LSC_LABELS
from competitions.organize.steps.step import FileSlot, Step, bound
from competitions.organize.steps.table import COLUMNS, DATA, METRIC, SPLIT

Start = CompetitionDraft.Start
PATHS: Final[Mapping[str, tuple[Step, ...]]] = {
    Start.TABLE: (DATA, COLUMNS, METRIC, SPLIT, ABOUT, SCHEDULE, TEXTS),
    Start.CODE: (PROGRAM, FILES, ABOUT, SCHEDULE, TEXTS),
    Start.DATASET: (DATASET, LABELS, ABOUT, SCHEDULE, TEXTS),
    Start.LSC: (LSC_DATASET, LSC_LABELS, ABOUT, SCHEDULE, TEXTS),
}


def path_of(draft: CompetitionDraft) -> tuple[Step, ...]:
    return PATHS[draft.start]


def step_of(draft: CompetitionDraft, slug: str) -> Step | None:
    return next((step for step in path_of(draft) if step.slug == slug), None)


def slot_of(draft: CompetitionDraft, role: str) -> FileSlot | None:
    return next((slot for step in path_of(draft) for slot in step.slots if slot.role == role), None)


def answered(draft: CompetitionDraft, slug: str) -> dict[str, Any] | None:
    """The values of a step as its form reads them; None while they are missing or not right."""
    step = step_of(draft, slug)
    answers = draft.answers.get(slug, {} if slug == TEXTS.slug else None)
    if step is None or answers is None:
        return None
    form = bound(step.form, draft, answers)
    return form.cleaned_data if form.is_valid() else None


def is_done(draft: CompetitionDraft, step: Step) -> bool:
    """Its files are there and its answers are right. A step that is never asked anything is done with its files."""
    files = {file.role: file.state for file in draft.files.all()}
    if any(slot.is_required and files.get(slot.role) != DraftFile.State.FINISHED for slot in step.slots):
        return False
    if DraftFile.State.FAILED in (files.get(slot.role) for slot in step.slots):
        return False
    return not step.form.base_fields or answered(draft, step.slug) is not None


def first_open(draft: CompetitionDraft) -> Step | None:
    """The first step that is not done; None when the competition can be built."""
    return next((step for step in path_of(draft) if not is_done(draft, step)), None)


def require_complete(draft: CompetitionDraft) -> None:
    """Raise `DraftIncomplete` for the first step that is not done."""
    step = first_open(draft)
    if step is not None:
        raise DraftIncomplete(step.title, reverse("organize:step", args=[draft.key, step.slug]))

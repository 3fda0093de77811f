"""The steps of each way to begin, in order, how far a draft has come, and the rail that shows it."""

from dataclasses import dataclass

from django.urls import reverse

from competitions.organize.models import CompetitionDraft, DraftFile
from competitions.organize.refusals import DRAFT_INCOMPLETE
from competitions.organize.steps.pages import TEXTS
from competitions.organize.steps.questions import QUESTIONS
from competitions.organize.steps.step import FileSlot, Step, StepForm, form_values
from competitions.submissions.states import State


def draft_path(draft: CompetitionDraft) -> tuple[Step, ...]:
    return tuple(step for step in (*QUESTIONS[draft.start], TEXTS) if step.is_asked(draft))


def find_step(draft: CompetitionDraft, slug: str) -> Step | None:
    return next((step for step in draft_path(draft) if step.slug == slug), None)


def find_slot(draft: CompetitionDraft, role: str) -> FileSlot | None:
    return next((slot for step in draft_path(draft) for slot in step.slots if slot.role == role), None)


def answered(draft: CompetitionDraft, slug: str) -> dict[str, object] | None:
    """The values of a step as its form reads them; None while they are missing or not right."""
    step = find_step(draft, slug)
    answers = draft.answers.get(slug, {} if slug == TEXTS.slug else None)
    return None if step is None or answers is None else form_values(step, draft, answers)


def is_done(draft: CompetitionDraft, step: Step) -> bool:
    """True if the step's files are read and its answers valid; a step without questions needs files only."""
    states = {file.role: file.state for file in draft.files.all()}
    if not all(_is_filled(slot, states.get(slot.role)) for slot in step.slots):
        return False
    return step.form is StepForm or answered(draft, step.slug) is not None


def _is_filled(slot: FileSlot, state: str | None) -> bool:
    """True if the file is read and usable, or missing but not required; later steps read its content."""
    return not slot.is_required if state is None else state == DraftFile.State.FINISHED


def first_open(draft: CompetitionDraft) -> Step | None:
    """The first step that is not done; None when the competition can be built."""
    return next((step for step in draft_path(draft) if not is_done(draft, step)), None)


def require_complete(draft: CompetitionDraft) -> None:
    """Raise `DRAFT_INCOMPLETE` for the first step that is not done."""
    step = first_open(draft)
    if step is not None:
        raise DRAFT_INCOMPLETE(title=step.title, url=reverse("organize:step", args=[draft.key, step.slug]))


@dataclass(frozen=True)
class RailItem:
    """One line: where it leads, and whether it is done or the page that is shown."""

    slug: str
    title: str
    url: str
    is_done: bool
    is_current: bool


@dataclass(frozen=True)
class Rail:
    items: list[RailItem]

    @property
    def place(self) -> int:
        """Of the page that is shown, from 1."""
        return next(number for number, item in enumerate(self.items, start=1) if item.is_current)

    @property
    def title(self) -> str:
        return self.items[self.place - 1].title


def step_rail(draft: CompetitionDraft, current: str) -> Rail:
    """Every step, then the trial and the review."""
    items = [
        RailItem(
            step.slug,
            step.title,
            reverse("organize:step", args=[draft.key, step.slug]),
            is_done(draft, step),
            step.slug == current,
        )
        for step in draft_path(draft)
    ]
    is_built = draft.is_up_to_date and first_open(draft) is None
    was_tried = is_built and (draft.trial is None or draft.trial.status == State.FINISHED)
    for slug, title, done in (("trial", "Trial", was_tried), ("review", "Publish", draft.is_published)):
        items.append(RailItem(slug, title, reverse(f"organize:{slug}", args=[draft.key]), done, slug == current))
    return Rail(items)

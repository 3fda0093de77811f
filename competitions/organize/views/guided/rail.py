"""The steps at the left of every page of a draft, with how far it is."""

from dataclasses import dataclass

from django.urls import reverse

from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.paths import draft_path, first_open, is_done
from competitions.submissions.states import State


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

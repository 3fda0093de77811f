"""The steps of each way to begin, the last one with the pages, and how far a draft has come."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from django import forms
from django.db.models import prefetch_related_objects
from django.template.loader import render_to_string
from django.urls import reverse

from competitions.organize.answers import SAMPLE as MADE_SAMPLE
from competitions.organize.answers import MetricChoice
from competitions.organize.models import CompetitionDraft, DraftFile
from competitions.organize.refusals import DRAFT_INCOMPLETE
from competitions.organize.steps.code import FILES, PROGRAM
from competitions.organize.steps.common import ABOUT, SCHEDULE
from competitions.organize.steps.dataset import DATASET, LABELS, LSC_DATASET, LSC_LABELS
from competitions.organize.steps.step import FileSlot, Step, StepForm, form_values
from competitions.organize.steps.table.columns import COLUMNS
from competitions.organize.steps.table.data import DATA, SAMPLE
from competitions.organize.steps.table.metric import METRIC, metric_facts
from competitions.organize.steps.table.predictions import PREDICTIONS
from competitions.organize.steps.table.split import SPLIT
from competitions.submissions.states import State
from scoring.metrics import METRICS
from scoring.tables.reading.file_types import table_ending

Start = CompetitionDraft.Start
QUESTIONS: Final[Mapping[str, tuple[Step, ...]]] = {
    Start.TABLE: (DATA, COLUMNS, METRIC, PREDICTIONS, SPLIT, ABOUT, SCHEDULE),
    Start.CODE: (PROGRAM, FILES, ABOUT, SCHEDULE),
    Start.DATASET: (DATASET, LABELS, ABOUT, SCHEDULE),
    Start.LSC: (LSC_DATASET, LSC_LABELS, ABOUT, SCHEDULE),
}


def question_answered(draft: CompetitionDraft, slug: str) -> dict[str, object] | None:
    """The values of a question as its form reads them; None while they are missing or not right."""
    step = next((step for step in QUESTIONS[draft.start] if step.slug == slug), None)
    answers = draft.answers.get(slug)
    return None if step is None or answers is None else form_values(step, draft, answers)


PAGES: Final = ("overview", "data", "evaluation", "rules")


def default_texts(draft: CompetitionDraft) -> dict[str, str]:
    """Markdown by page. What was not answered yet is left out."""
    files = {file.role for file in draft.files.all()}
    context: dict[str, object] = {"draft": draft, "start": draft.start, "files": files, **_answers(draft)}
    return {name: render_to_string(f"organize/guided/texts/{name}.md", context).strip() + "\n" for name in PAGES}


def _answers(draft: CompetitionDraft) -> dict[str, object]:
    names = ("about", "schedule", "columns", "metric", "split", "dataset", "program")
    answers: dict[str, object] = {name: question_answered(draft, name) for name in names}
    titles = (
        [metric["title"] for metric in metric_facts(cast("MetricChoice", answers["metric"]))]
        if answers["metric"]
        else []
    )
    sample = next((file for file in draft.files.all() if file.role == SAMPLE.role), None)
    file_name = SAMPLE.role + table_ending(sample.file_name if sample else MADE_SAMPLE)
    chosen = METRICS.get(str((answers["metric"] or {}).get("metric"))) if isinstance(answers["metric"], dict) else None
    answers["formula"] = chosen.formula if chosen else ""
    return answers | {"metric_title": "".join(titles[:1]), "more_titles": titles[1:], "sample_name": file_name}


class PagesForm(StepForm):
    """Texts that are written already; what nobody changes follows the other answers."""

    overview_text = forms.CharField(
        label="Overview", widget=forms.Textarea(attrs={"rows": 10}), help_text="Markdown, as all of these."
    )
    data_text = forms.CharField(label="Data", widget=forms.Textarea(attrs={"rows": 8}))
    evaluation_text = forms.CharField(label="Evaluation", widget=forms.Textarea(attrs={"rows": 8}))
    rules_text = forms.CharField(
        label="Rules", widget=forms.Textarea(attrs={"rows": 10}), help_text="Everybody accepts them to take part."
    )

    def __init__(self, draft: CompetitionDraft, data: Mapping[str, object] | None = None) -> None:
        self.defaults = {f"{name}_text": text for name, text in default_texts(draft).items()}
        super().__init__(draft, None if data is None else self.defaults | {name: data[name] for name in data})

    def prepare(self) -> None:
        for name, text in self.defaults.items():
            self.fields[name].initial = text

    def kept(self, answers: dict[str, list[str]]) -> dict[str, list[str]]:
        return {
            name: texts for name, texts in answers.items() if _plain(texts[0]) != _plain(self.defaults.get(name, ""))
        }


def _plain(text: str) -> str:
    """Browsers send CRLF for LF, and drop white space at the end."""
    return text.replace("\r\n", "\n").rstrip()


TEXTS: Final = Step(
    "pages",
    "Pages and rules",
    "What should people read?",
    PagesForm,
    preview="organize/guided/previews/pages.html",
    intro="These pages are written from your answers. Change what you like; what you leave alone follows your answers.",
)


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
    prefetch_related_objects([draft], "files__file")  # each step looks for some of them
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
        """The number of the page that is shown, from 1."""
        return next(number for number, item in enumerate(self.items, start=1) if item.is_current)

    @property
    def title(self) -> str:
        return self.items[self.place - 1].title


def step_rail(draft: CompetitionDraft, current: str) -> Rail:
    """Every step, then the trial and the review. The optional pages are done once they were saved."""
    items = [
        RailItem(
            step.slug,
            step.title,
            reverse("organize:step", args=[draft.key, step.slug]),
            is_done(draft, step) and (step is not TEXTS or TEXTS.slug in draft.answers),
            step.slug == current,
        )
        for step in draft_path(draft)
    ]
    is_built = draft.is_up_to_date and first_open(draft) is None
    was_tried = is_built and (draft.trial is None or draft.trial.status == State.FINISHED)
    for slug, title, done in (("trial", "Trial", was_tried), ("review", "Publish", draft.is_published)):
        items.append(RailItem(slug, title, reverse(f"organize:{slug}", args=[draft.key]), done, slug == current))
    return Rail(items)

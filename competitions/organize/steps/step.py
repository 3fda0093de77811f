"""One step of the guided path: a question, a form, and places for files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django import forms
from django.http import QueryDict

if TYPE_CHECKING:
    from competitions.organize.models import CompetitionDraft

FORMATS: Final = (".csv", ".tsv", ".parquet", ".jsonl", ".npz")
TABLES: Final = (*(name + packed for name in FORMATS for packed in ("", ".gz", ".zst")), ".zip")
ZIPS: Final = (".zip",)


@dataclass(frozen=True)
class FileSlot:
    """A place for a draft's file. `suffixes`: allowed endings; a table is read once it is there."""

    role: str
    label: str
    hint: str
    suffixes: tuple[str, ...] = TABLES
    is_required: bool = True

    @property
    def is_table(self) -> bool:
        return self.suffixes == TABLES


class StepForm(forms.Form):
    """The form of a step. What it may be sent with can depend on the draft's files and earlier answers."""

    def __init__(self, draft: "CompetitionDraft", data: Mapping[str, object] | None = None) -> None:
        self.draft = draft
        super().__init__(data)
        self.prepare()

    def prepare(self) -> None:
        """Fill in choices and defaults that depend on the draft."""

    def kept(self, answers: dict[str, list[str]]) -> dict[str, list[str]]:
        """The sent values that are kept; a step whose defaults follow other answers drops those."""
        return answers


@dataclass(frozen=True)
class Step:
    """One question of the path. `preview` is the template beside it."""

    slug: str
    title: str
    question: str
    form: type[StepForm] = StepForm
    slots: tuple[FileSlot, ...] = ()
    preview: str = ""
    intro: str = ""
    template: str = "form"


def bound(form: type[StepForm], draft: "CompetitionDraft", answers: Mapping[str, Sequence[str]] | None) -> StepForm:
    """The form with these answers, as they were sent; with its defaults where there are none."""
    if answers is None:
        return form(draft)
    data = QueryDict(mutable=True)
    for name, texts in answers.items():
        data.setlist(name, list(texts))
    return form(draft, data)


def form_values(
    step: Step, draft: "CompetitionDraft", answers: Mapping[str, Sequence[str]]
) -> dict[str, object] | None:
    """These answers as the step's form reads them; None where they are not right."""
    form = bound(step.form, draft, answers)
    return form.cleaned_data if form.is_valid() else None

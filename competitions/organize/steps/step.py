"""One step of the guided path: a question, a form, and places for files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django import forms
from django.http import QueryDict

from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import WRONG_KIND_OF_FILE
from core.refusals import InvalidFile
from scoring.errors import ScoringInputError
from scoring.tables.reading.file_types import require_no_spreadsheet

FORMATS: Final = (".csv", ".tsv", ".parquet", ".jsonl", ".npz")
TABLES: Final = (*(name + packed for name in FORMATS for packed in ("", ".gz", ".zst")), ".zip")
ZIPS: Final = (".zip",)


def require_ending(file_name: str, suffixes: tuple[str, ...]) -> None:
    """Refuse a file by its name. Raises `InvalidFile` for a spreadsheet, or `WRONG_KIND_OF_FILE`."""
    if suffixes == TABLES:
        try:
            require_no_spreadsheet(file_name)
        except ScoringInputError as error:
            raise InvalidFile(error.code, str(error)) from error
    if not file_name.lower().endswith(suffixes):
        raise WRONG_KIND_OF_FILE(file_name=file_name, allowed=", ".join(suffixes))


@dataclass(frozen=True)
class FileSlot:
    """A place for a draft's file. `suffixes`: allowed endings; a table is read once it is there."""

    role: str
    label: str
    hint: str
    suffixes: tuple[str, ...] = TABLES
    is_required: bool = False

    @property
    def is_table(self) -> bool:
        return self.suffixes == TABLES


class StepForm(forms.Form):
    """The form of a step. What it may be sent with can depend on the draft's files and earlier answers."""

    def __init__(self, draft: CompetitionDraft, data: Mapping[str, object] | None = None) -> None:
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
    """One question of the path, with the template beside it; `is_asked`: of this draft."""

    slug: str
    title: str
    question: str
    form: type[StepForm] = StepForm
    slots: tuple[FileSlot, ...] = ()
    preview: str = ""
    intro: str = ""
    template: str = "form"
    is_asked: Callable[[CompetitionDraft], bool] = lambda draft: True


def bound(form: type[StepForm], draft: CompetitionDraft, answers: Mapping[str, Sequence[str]] | None) -> StepForm:
    """The form with these answers, as they were sent; with its defaults where there are none."""
    if answers is None:
        return form(draft)
    data = QueryDict(mutable=True)
    for name, texts in answers.items():
        data.setlist(name, list(texts))
    return form(draft, data)


def form_values(step: Step, draft: CompetitionDraft, answers: Mapping[str, Sequence[str]]) -> dict[str, object] | None:
    """These answers as the step's form reads them; None where they are not right."""
    form = bound(step.form, draft, answers)
    return form.cleaned_data if form.is_valid() else None

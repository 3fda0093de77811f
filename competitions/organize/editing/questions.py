"""Questions: what everybody who registers is asked, and what teams are asked about each submission."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict
from django.utils.text import slugify

from competitions.catalog.models import Competition
from competitions.catalog.questions import AskedQuestion
from competitions.factsheets.models import Question
from competitions.factsheets.services import delete_question, save_question
from competitions.organize.editing.change_form import CompetitionForm
from competitions.organize.editing.deletions import Deletion
from competitions.submissions.models import Submission
from competitions.teams.models import Registration, RegistrationQuestion
from competitions.web.forms import offer
from core.models import next_index
from files.text import free_name, quantity

SHARED_FIELDS = ("title", "help_text", "kind", "choices", "is_required", "key", "index")
SHARED_LABELS = {"title": "Question", "kind": "Answered by", "index": "Place", "is_required": "Required"}
SHARED_HELP = {
    "title": "As people read it.",
    "index": "Questions are asked in this order, the lowest first. Leave empty to put it last.",
    "key": (
        "Its name in the API and in downloads, for instance code_url. Leave empty to have it made from the question."
    ),
}


class LinesField(forms.CharField):
    """Texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def to_python(self, value: Any) -> Any:
        return [line.strip() for line in (super().to_python(value) or "").splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class QuestionForm(CompetitionForm):
    """Base: a question of either kind. A new one gets its key from its words, and the last place."""

    choices = LinesField(
        label="Choices", required=False, max_length=10_000, help_text="For one of several: one choice a line."
    )

    def __init__(self, competition: Competition, data: QueryDict | None = None, *, instance: Any = None) -> None:
        super().__init__(competition, data, instance=instance or self._meta.model(competition=competition))
        self.fields["key"].required = self.fields["index"].required = False
        if instance is None:
            self.initial["index"] = None

    def clean(self) -> dict[str, object]:
        cleaned = super().clean()
        others = type(self.instance).objects.filter(competition=self.competition)
        if not cleaned.get("key") and "key" not in self.errors:
            base = slugify(str(cleaned.get("title", ""))).replace("-", "_")[:30].strip("_") or "question"
            cleaned["key"] = self.instance.key or free_name(base, set(others.values_list("key", flat=True)), "_")
        if cleaned.get("index") is None and "index" not in self.errors:
            cleaned["index"] = self.instance.index if self.instance.pk else next_index(others)
        return cleaned


class RegistrationQuestionForm(QuestionForm):
    """A question that everybody who registers is asked."""

    class Meta:
        model = RegistrationQuestion
        fields = SHARED_FIELDS
        labels: ClassVar[dict[str, str]] = SHARED_LABELS
        help_texts: ClassVar[dict[str, str]] = SHARED_HELP

    def consequences(self, now: datetime) -> list[str]:
        return list(_impact_of_registration_question(self.instance)) if self.has_changed() else []

    def write(self, now: datetime) -> RegistrationQuestion:
        question: RegistrationQuestion = self.instance
        question.full_clean()
        question.save()
        return question


def _impact_of_registration_question(question: RegistrationQuestion) -> Iterator[str]:
    """Sentences on what writing it does to people who have registered."""
    registered = Registration.objects.filter(competition=question.competition_id).count()
    if not question.pk and registered:
        yield f"{registered:,} {_people(registered)} registered already: they see it when they next accept a version of the rules."
    elif question.pk and (answered := _answers_given(question)):
        yield f"{answered:,} {_people(answered)} answered it as it was; their answers stay as they are."


def _answers_given(question: RegistrationQuestion) -> int:
    """The number of people who have answered it."""
    return Registration.objects.filter(competition=question.competition_id, answers__has_key=question.key).count()


def _people(count: int) -> str:
    return "person has" if count == 1 else "people have"


class FactQuestionForm(QuestionForm):
    """A question of the fact sheet that goes with a submission."""

    groups: ClassVar[Any] = (
        ("Question", SHARED_FIELDS),
        ("Who sees the answer", ("is_public", "is_on_board")),
        ("Where it is asked", ("phase", "compared_with")),
    )

    class Meta:
        model = Question
        fields = (*SHARED_FIELDS, "is_public", "is_on_board", "phase", "compared_with")
        labels: ClassVar[dict[str, str]] = SHARED_LABELS | {
            "is_public": "Public",
            "is_on_board": "A column of the boards",
        }
        help_texts: ClassVar[dict[str, str]] = SHARED_HELP | {"is_on_board": "Only answers that are public."}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        offer(self, "phase", self.competition.phases.order_by("index", "pk")).empty_label = "every phase"

    def consequences(self, now: datetime) -> list[str]:
        return list(_impact_of_fact_question(self.instance, self.changed_data))

    def write(self, now: datetime) -> Question:
        return save_question(self.instance)


def _impact_of_fact_question(question: Question, changed: list[str]) -> Iterator[str]:
    """Sentences on what writing it does to submissions that were made."""
    if not question.pk:
        return
    answered = _submissions_with(question)
    submissions = quantity(answered, "submission")
    if answered and "is_public" in changed:
        seen = "everybody reads" if question.is_public else "teams and organizers alone read"
        yield f"{seen.capitalize()} the answers of {submissions} from now on."
    if answered and {"key", "kind", "choices"} & set(changed):
        yield f"The answers of {submissions} stay as they were given."


def _submissions_with(question: Question) -> int:
    submissions = Submission.objects.filter(
        phase__competition=question.competition_id, fact_sheet__has_key=question.key
    )
    return (submissions if question.phase_id is None else submissions.filter(phase=question.phase_id)).count()


def question_deletion(question: AskedQuestion) -> Deletion:
    """The consequences of deleting a question."""
    return Deletion(f"the question “{question.title}”", tuple(_of_answers(question)), ())


def _of_answers(question: AskedQuestion) -> Iterator[str]:
    if isinstance(question, RegistrationQuestion):
        if count := _answers_given(question):
            yield f"{quantity(count, 'answer')} stay with the registrations, in the list and in downloads."
    elif isinstance(question, Question):
        if count := _submissions_with(question):
            yield f"{quantity(count, 'answer')} stay with the submissions."
        if question.is_on_board:
            yield "Its column leaves the boards."


def remove_question(question: AskedQuestion) -> None:
    """Delete a question of either kind."""
    if isinstance(question, Question):
        delete_question(question)
    else:
        question.delete()

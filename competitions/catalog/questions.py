"""An organizer's questions, answered at registration and on the fact sheets of submissions.

Browser, API and scripts all go through `read_answers`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator, URLValidator
from django.db import models

from competitions.catalog.repositories import RepositoryInvalid, pinned_repository
from core.fields import OneLineField
from core.refusals import Refusal

MAX_TEXT: Final = 2000
TRUE: Final = ("true", "on", "1", "yes")
FALSE: Final = ("false", "off", "0", "no", "")

KEY: Final = RegexValidator(
    r"\A[\w.-]+( [\w.-]+)*\Z", "Use letters, digits, point, hyphen, underscore and single blanks."
)

Answer = str | float | bool
Answers = dict[str, Answer]


class AskedQuestion(models.Model):
    """One question. Abstract: the models that use it say whom it is put to."""

    class Kind(models.TextChoices):
        TEXT = "text", "text"
        NUMBER = "number", "number"
        URL = "url", "web address"
        REPOSITORY = "repository", "repository at a commit"
        SELECT = "select", "one of several"
        CHECKBOX = "checkbox", "yes or no"

    key = OneLineField(
        max_length=36, validators=[KEY], help_text="Its name in the API and in exports, for instance code_url."
    )
    title = OneLineField(max_length=200, help_text="The question as people see it.")
    help_text = OneLineField("help", max_length=300, blank=True)
    kind = models.CharField("type", max_length=10, choices=Kind, default=Kind.TEXT)
    choices = models.JSONField(default=list, blank=True, help_text='For a choice, its options: ["none", "ImageNet"].')
    is_required = models.BooleanField(
        default=False,
        help_text=(
            "A registration without an answer is not accepted; to a required yes-or-no question the answer must be yes."
        ),
    )
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        abstract = True
        ordering = ["index", "pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def is_address(self) -> bool:
        """True if its answers are shown as links."""
        return self.kind in (self.Kind.URL, self.Kind.REPOSITORY)

    def clean(self) -> None:
        texts = isinstance(self.choices, list) and all(
            isinstance(choice, str) and choice.strip() for choice in self.choices
        )
        if self.kind == self.Kind.SELECT and (
            not texts or len(self.choices) < 2 or len(set(self.choices)) < len(self.choices)
        ):
            raise ValidationError({"choices": 'Give at least two different texts, for instance ["none", "ImageNet"].'})


class AnswersInvalid(Refusal):
    """`extra["faults"]` says for each key what is wrong. A subclass names what was filled in."""

    code, http_status = "answers_invalid", 422
    what = "What was asked"

    def __init__(self, faults: dict[str, str]) -> None:
        details = " ".join(f"{key}: {text}" for key, text in faults.items())
        super().__init__(f"{self.what} is not complete or not valid. {details}", faults=faults)


class _Fault(Exception):
    """A fault of one answer."""


def read_answers(
    questions: Sequence[AskedQuestion], given: object, *, refusal: type[AnswersInvalid] = AnswersInvalid
) -> Answers:
    """The checked answers by key; what was left open is left out.

    Raises `refusal` with all faults at once: required answers that are missing, wrong types, unknown keys.
    """
    if not isinstance(given, Mapping):
        raise refusal({"answers": "they must be a mapping from key to answer."})
    by_key = {question.key: question for question in questions}
    known = ", ".join(by_key) or "none"
    faults = {str(key)[:60]: f"nobody asks this; the keys are {known}." for key in given if key not in by_key}
    answers: Answers = {}
    for key, question in by_key.items():
        try:
            answer = _answer(question, given.get(key))
        except _Fault as fault:
            faults[key] = str(fault)
        else:
            if answer is not None:
                answers[key] = answer
    if faults:
        raise refusal(faults)
    return answers


def _answer(question: AskedQuestion, value: Any) -> Answer | None:
    if isinstance(value, str):
        value = value.strip()
    answer = None if value in (None, "") else READ[AskedQuestion.Kind(question.kind)](question, value)
    if question.is_required and (answer is None or answer is False):
        raise _Fault(
            f"“{question.title}” needs {'a yes' if question.kind == AskedQuestion.Kind.CHECKBOX else 'an answer'}."
        )
    return answer


def _text(question: AskedQuestion, value: Any) -> str:
    if not isinstance(value, str):
        raise _Fault("it must be text.")
    if len(value) > MAX_TEXT:
        raise _Fault(f"it has {len(value):,} characters; {MAX_TEXT:,} are allowed.")
    return "".join(char if char.isprintable() or char == "\n" else " " for char in value)


def _number(question: AskedQuestion, value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _Fault(f"{str(value)[:40]!r} is not a finite number. Write it as 12345 or 1.5e6.")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _url(question: AskedQuestion, value: Any) -> str:
    text = _text(question, value)
    try:
        URLValidator(schemes=["http", "https"])(text)
    except ValidationError as error:
        raise _Fault(f"{text[:80]!r} is not a web address. Write it in full, with https://.") from error
    return text


def _repository(question: AskedQuestion, value: Any) -> str:
    try:
        return pinned_repository(_text(question, value))
    except RepositoryInvalid as error:
        raise _Fault(str(error)) from error


def _select(question: AskedQuestion, value: Any) -> str:
    text = str(value) if isinstance(value, bool | int | float) else value  # choices are texts: True is "True"
    if text not in question.choices:
        raise _Fault(f"{str(value)[:40]!r} is not one of {', '.join(question.choices)}.")
    return str(text)


def _checkbox(question: AskedQuestion, value: Any) -> bool:
    word = str(value).lower()
    if word not in (*TRUE, *FALSE):
        raise _Fault(f"{str(value)[:40]!r} is neither true nor false.")
    return word in TRUE


READ: Final[dict[AskedQuestion.Kind, Callable[[AskedQuestion, Any], Answer]]] = {
    AskedQuestion.Kind.TEXT: _text,
    AskedQuestion.Kind.NUMBER: _number,
    AskedQuestion.Kind.URL: _url,
    AskedQuestion.Kind.REPOSITORY: _repository,
    AskedQuestion.Kind.SELECT: _select,
    AskedQuestion.Kind.CHECKBOX: _checkbox,
}


def shown_answer(answer: Answer) -> str:
    """An answer as people read it.

    >>> [shown_answer(one) for one in (True, 61234567, 0.25, "GIN")]
    ['yes', '61,234,567', '0.25', 'GIN']
    """
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, int):
        return f"{answer:,}"
    return f"{answer:.10g}" if isinstance(answer, float) else answer


FIELD: Final = "answer."  # a form's field for a question is called so, then its key


def answers_of_form(form: Mapping[str, str]) -> dict[str, str]:
    """The answers in a submitted form.

    >>> answers_of_form({"answer.name": "GIN", "phase": "test-dev"})
    {'name': 'GIN'}
    """
    return {name.removeprefix(FIELD): value for name, value in form.items() if name.startswith(FIELD)}

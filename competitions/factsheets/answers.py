"""Reading the answers of a fact sheet: every path, browser, API and robot, comes through `read_answers`."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db.models import Q

from competitions.catalog.models import Phase
from competitions.factsheets.models import Question
from competitions.refusals import Refusal

MAX_TEXT: Final = 2000
TRUE: Final = ("true", "on", "1", "yes")
FALSE: Final = ("false", "off", "0", "no", "")

Answer = str | float | bool
Answers = dict[str, Answer]


class FactSheetInvalid(Refusal):
    """`extra["faults"]` says for each key what is wrong."""

    code, http_status = "fact_sheet_invalid", 422

    def __init__(self, faults: dict[str, str]) -> None:
        said = " ".join(f"{key}: {text}" for key, text in faults.items())
        super().__init__(f"The fact sheet is not complete or not valid. {said}", faults=faults)


class _Fault(Exception):
    """What is wrong with one answer."""


def questions_of(phase: Phase) -> list[Question]:
    """What is asked of a submission to this phase; a phase's own question stands for the competition's of the same key."""
    asked = Question.objects.filter(Q(phase=phase) | Q(phase=None), competition=phase.competition_id)
    by_key: dict[str, Question] = {}
    for question in asked:
        if question.key not in by_key or question.phase_id is not None:
            by_key[question.key] = question
    return sorted(by_key.values(), key=lambda question: (question.index, question.pk))


def read_answers(questions: Sequence[Question], given: object) -> Answers:
    """The checked answers by key; what was left open is left out.

    Raises `FactSheetInvalid` with all faults at once: required answers that are missing, wrong types, unknown keys.
    """
    if not isinstance(given, Mapping):
        raise FactSheetInvalid({"fact_sheet": "it must be a mapping from key to answer."})
    asked = {question.key: question for question in questions}
    known = ", ".join(asked) or "none"
    faults = {str(key)[:60]: f"nobody asks this; the keys are {known}." for key in given if key not in asked}
    answers: Answers = {}
    for key, question in asked.items():
        try:
            answer = _answer(question, given.get(key))
        except _Fault as fault:
            faults[key] = str(fault)
        else:
            if answer is not None:
                answers[key] = answer
    if faults:
        raise FactSheetInvalid(faults)
    return answers


def _answer(question: Question, value: Any) -> Answer | None:
    if isinstance(value, str):
        value = value.strip()
    answer = None if value in (None, "") else READ[Question.Kind(question.kind)](question, value)
    if question.is_required and (answer is None or answer is False):
        raise _Fault(f"“{question.title}” needs {'a yes' if question.kind == Question.Kind.CHECKBOX else 'an answer'}.")
    return answer


def _text(question: Question, value: Any) -> str:
    if not isinstance(value, str):
        raise _Fault("it must be text.")
    if len(value) > MAX_TEXT:
        raise _Fault(f"it has {len(value):,} characters; {MAX_TEXT:,} are allowed.")
    return "".join(char if char.isprintable() or char == "\n" else " " for char in value)


def _number(question: Question, value: Any) -> float:
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _Fault(f"{str(value)[:40]!r} is no finite number. Write it as 12345 or 1.5e6.")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _url(question: Question, value: Any) -> str:
    text = _text(question, value)
    try:
        URLValidator(schemes=["http", "https"])(text)
    except ValidationError as error:
        raise _Fault(f"{text[:80]!r} is no web address. Write it in full, with https://.") from error
    return text


def _select(question: Question, value: Any) -> str:
    if value not in question.choices:
        raise _Fault(f"{str(value)[:40]!r} is not one of {', '.join(question.choices)}.")
    return str(value)


def _checkbox(question: Question, value: Any) -> bool:
    word = str(value).lower()
    if word not in (*TRUE, *FALSE):
        raise _Fault(f"{str(value)[:40]!r} is neither true nor false.")
    return word in TRUE


READ: Final[dict[Question.Kind, Callable[[Question, Any], Answer]]] = {
    Question.Kind.TEXT: _text,
    Question.Kind.NUMBER: _number,
    Question.Kind.URL: _url,
    Question.Kind.SELECT: _select,
    Question.Kind.CHECKBOX: _checkbox,
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

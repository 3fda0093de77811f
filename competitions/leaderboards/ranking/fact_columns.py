"""Answers of fact sheets on boards: as columns, sortable if numeric, and beside the scores."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeGuard

from competitions.catalog.models import Column, Phase
from competitions.catalog.questions import shown_answer
from competitions.factsheets.models import Question
from competitions.factsheets.services import fact_sheet_questions
from competitions.submissions.models import Submission

PREFIX: Final = "fact:"  # of a row's values, so that an answer never hides a score of the same key


@dataclass(frozen=True)
class FactColumn:
    """A column of answers; templates and exports take it for a column."""

    question: Question
    unit: str = ""
    sorting: str = "asc"
    is_hidden: bool = False

    @property
    def key(self) -> str:
        return PREFIX + self.question.key

    @property
    def title(self) -> str:
        return self.question.title

    @property
    def is_sortable(self) -> bool:
        return self.question.kind == Question.Kind.NUMBER

    @property
    def is_link(self) -> bool:
        return self.question.is_address

    def shown_in(self, values: Mapping[str, Any]) -> str | None:
        return shown_answer(values[self.key]) if self.key in values else None

    def get_sorting_display(self) -> str:
        return "sorted upwards"


def fact_columns(phase: Phase) -> list[FactColumn]:
    """The answers that stand on the phase's boards, as columns."""
    return [FactColumn(question) for question in fact_sheet_questions(phase) if question.is_on_board]


VERIFIED: Final = "badge:verified"
AGENT: Final = "badge:agent"
SOURCE: Final = "badge:source"


def badge_values(submission: Submission) -> dict[str, object]:
    """A row's badges: time and limit of a verified submission, in seconds; agent; commit and link."""
    badges: dict[str, object] = {}
    if submission.verified_at is not None:
        badges[VERIFIED] = {"wall_s": submission.verified_s, "limit_s": submission.phase.time_limit_s}
    if submission.agent:
        badges[AGENT] = asdict(submission.agent)
    if submission.commit or submission.link:
        badges[SOURCE] = {"commit": submission.commit, "link": submission.link}
    return badges


def fact_values(submission: Submission, facts: Sequence[FactColumn]) -> dict[str, object]:
    """The answers to these questions as values of a row.

    A question may have become one for a number after it was answered: other answers to it are left out.
    """
    given = submission.fact_sheet
    values = {fact.key: given[fact.question.key] for fact in facts if fact.question.key in given}
    numbers = {fact.key for fact in facts if fact.is_sortable}
    return {key: answer for key, answer in values.items() if key not in numbers or _is_number(answer)}


def _is_number(answer: object) -> TypeGuard[int | float]:
    return isinstance(answer, int | float) and not isinstance(answer, bool)


@dataclass(frozen=True)
class Comparison:
    """A number that the team reported, and the score of the same file that the platform found."""

    title: str
    reported: str
    found: str
    difference: str


def comparisons(
    submission: Submission, questions: Sequence[Question], scores: Mapping[str, tuple[Column, float]]
) -> list[Comparison]:
    """Reported numbers beside visible scores. `scores`: column and exact value, by key.

    Differences are of values as shown: answers can be changed any number of times, and exact differences would reveal
    hidden digits.
    """
    compared = []
    for question in questions:
        reported, score = submission.fact_sheet.get(question.key), scores.get(question.compared_with)
        if score is None or not _is_number(reported):
            continue
        column, value = score
        difference = column.difference(reported, value)
        compared.append(Comparison(question.title, column.shown(reported), column.shown(value), difference))
    return compared

"""Questions of a submission's fact sheet, and reading the answers."""

from collections.abc import Sequence

from django.db.models import Q

from competitions.catalog.models import Phase
from competitions.catalog.questions import Answers, AnswersInvalid, read_answers
from competitions.factsheets.models import Question


class FactSheetInvalid(AnswersInvalid):
    code, what = "fact_sheet_invalid", "The fact sheet"


def fact_sheet_questions(phase: Phase) -> list[Question]:
    """A phase's fact sheet questions; its own replace the competition's with the same key."""
    questions = Question.objects.filter(Q(phase=phase) | Q(phase=None), competition=phase.competition_id)
    by_key: dict[str, Question] = {}
    for question in questions:
        if question.key not in by_key or question.phase_id is not None:
            by_key[question.key] = question
    return sorted(by_key.values(), key=lambda question: (question.index, question.pk))


def read_fact_sheet(questions: Sequence[Question], given: object) -> Answers:
    """Checked answers by key, without open ones. Raises `FactSheetInvalid` with all faults."""
    return read_answers(questions, given, refusal=FactSheetInvalid)

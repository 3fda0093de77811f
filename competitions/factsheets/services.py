"""Questions of fact sheets: what an organizer writes, who hears of it, and reading the answers."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q

from competitions.catalog.models import Competition, Phase
from competitions.catalog.questions import Answers, AnswersInvalid, read_answers
from competitions.factsheets.models import Question, questions_changed


@transaction.atomic
def save_question(question: Question) -> Question:
    """Write a question, new or changed, and tell the boards. Raises `ValidationError` by field."""
    question.full_clean()
    changes_boards = _concerns_boards(question)
    before = Question.objects.filter(pk=question.pk).values(*Question.DECIDES).first()
    question.save()
    note_questions(question.competition)
    if changes_boards:
        is_shown_alone = before == {name: getattr(question, name) for name in Question.DECIDES}
        questions_changed.send(sender=Question, competition=question.competition, is_shown_alone=is_shown_alone)
    return question


def _concerns_boards(question: Question) -> bool:
    """True where it is or was on boards, or one of its key is, whose place it takes or gives back."""
    questions = Question.objects.filter(competition=question.competition_id)
    keys = {question.key, *questions.filter(pk=question.pk).values_list("key", flat=True)}
    return question.is_on_board or questions.filter(key__in=keys, is_on_board=True).exists()


@transaction.atomic
def delete_question(question: Question) -> None:
    """Delete a question; answers that were given stay with their submissions."""
    changes_boards = _concerns_boards(question)
    question.delete()
    note_questions(question.competition)
    if changes_boards:
        questions_changed.send(sender=Question, competition=question.competition)


def note_questions(competition: Competition) -> None:
    """Note in its row if the competition has a fact sheet. Call where questions changed."""
    competition.has_questions = Question.objects.filter(competition=competition).exists()
    competition.save(update_fields=["has_questions"])


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

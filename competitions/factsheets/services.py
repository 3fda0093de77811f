"""Questions of fact sheets: what an organizer writes, and who hears of it."""

from django.db import transaction

from competitions.catalog.models import Competition
from competitions.factsheets.models import Question, questions_changed


@transaction.atomic
def save_question(question: Question) -> Question:
    """Write a question, new or changed, and tell who shows answers. Raises `ValidationError` by field."""
    question.full_clean()
    question.save()
    note_questions(question.competition)
    questions_changed.send(sender=Question, competition=question.competition)
    return question


@transaction.atomic
def delete_question(question: Question) -> None:
    """Delete a question; answers that were given stay with their submissions."""
    question.delete()
    note_questions(question.competition)
    questions_changed.send(sender=Question, competition=question.competition)


def note_questions(competition: Competition) -> None:
    """Note in its row if the competition has a fact sheet. Call where questions changed."""
    competition.has_questions = Question.objects.filter(competition=competition).exists()
    competition.save(update_fields=["has_questions"])

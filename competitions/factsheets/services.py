"""Questions of fact sheets: what an organizer writes, and who hears of it."""

from django.db import transaction

from competitions.factsheets.models import Question, questions_changed


@transaction.atomic
def save_question(question: Question) -> Question:
    """Write a question, new or changed, and tell who shows answers. Raises `ValidationError` by field."""
    question.full_clean()
    question.save()
    questions_changed.send(sender=Question, competition=question.competition)
    return question


@transaction.atomic
def delete_question(question: Question) -> None:
    """Delete a question; answers that were given stay with their submissions."""
    question.delete()
    questions_changed.send(sender=Question, competition=question.competition)

"""Registration questions: writing them, and the effect on people who have registered."""

from collections.abc import Iterator
from datetime import datetime

from competitions.teams.models import Registration, RegistrationQuestion


def save_registration_question(question: RegistrationQuestion) -> RegistrationQuestion:
    """Write a question, new or changed. Raises `ValidationError` by field."""
    question.full_clean()
    question.save()
    return question


def answers_given(question: RegistrationQuestion) -> int:
    """The number of people who have answered it."""
    return Registration.objects.filter(competition=question.competition_id, answers__has_key=question.key).count()


def impact_of_registration_question(question: RegistrationQuestion, now: datetime) -> Iterator[str]:
    """Sentences on what writing it does to people who have registered."""
    registered = Registration.objects.filter(competition=question.competition_id).count()
    if not question.pk and registered:
        yield f"{registered:,} {_people(registered)} registered already: they see it when they next accept a version of the rules."
    elif question.pk and (answered := answers_given(question)):
        yield f"{answered:,} {_people(answered)} answered it as it was; their answers stay as they are."


def _people(count: int) -> str:
    return "person has" if count == 1 else "people have"

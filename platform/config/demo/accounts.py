"""The demo's organizer, teams and service account. Passwords are made at random and shown once.

The image of the site, which has no examples, takes them from here, too.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from allauth.account.models import EmailAddress

from accounts.models import Scope, User, token_create
from competitions.catalog.models import Competition
from competitions.catalog.services import current_rules
from competitions.teams.models import Team
from competitions.teams.services import register, team_create


@dataclass(frozen=True)
class Account:
    """The credentials of one of the demo's people; a service account has a token and no password."""

    role: str
    username: str
    password: str | None
    token: str


def person_create(
    *, role: str, username: str, now: datetime, is_staff: bool = False, is_robot: bool = False
) -> tuple[User, Account]:
    """A confirmed account with a random password (none for a service account) and an API token for a week."""
    password = None if is_robot else secrets.token_urlsafe(12)
    user = User.objects.create_user(
        username=username, email=f"{username}@podium.example", password=password, is_staff=is_staff, is_robot=is_robot
    )
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    _, token = token_create(user=user, name="demo", scopes=list(Scope.values), expires_at=now + timedelta(days=7))
    return user, Account(role=role, username=username, password=password, token=token)


def join(*, user: User, competition: Competition, team_name: str, now: datetime, is_baseline: bool = False) -> Team:
    """Accept the current rules and found a team."""
    rules = current_rules(competition)
    assert rules is not None, "the bundle's terms were published with the import"
    questions = competition.registration_questions.all()
    answers = {
        question.key: True if question.kind == question.Kind.CHECKBOX else f"{user} of the demo"
        for question in questions
    }
    register(user=user, competition=competition, rules_version=rules.number, now=now, answers=answers)
    return team_create(user=user, competition=competition, name=team_name, now=now, is_baseline=is_baseline)

"""A person's open items above the list of competitions: winners' places, invitations, runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE
from competitions.teams.models import Invitation
from competitions.winners.models import Place
from competitions.winners.services import places_to_answer

SHOWN_RUNS = 5  # the newest; the others are on their competitions' pages


@dataclass(frozen=True)
class Home:
    """All empty for visitors."""

    places: Sequence[Place] = ()
    invitations: Sequence[Invitation] = ()
    running: Sequence[Submission] = ()


def home_content(user: User | AnonymousUser, now: datetime) -> Home:
    if not isinstance(user, User):
        return Home()
    invitations = Invitation.objects.filter(user=user, state=Invitation.State.OPEN, expires_at__gt=now)
    running = Submission.objects.filter(
        team__memberships__user=user, status__in=LIVE, is_check=False, is_verification=False
    )
    return Home(
        places=list(places_to_answer(user).select_related("lane__leaderboard__phase__competition")),
        invitations=list(invitations.select_related("team__competition")),
        running=list(running.select_related("phase__competition").order_by("-pk")[:SHOWN_RUNS]),
    )

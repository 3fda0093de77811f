"""A person's own page: competitions, deadlines, everything that waits, notifications, tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.models import ApiToken, User
from accounts.views import person
from competitions.catalog.models import Competition, CompetitionOrganizer, Phase
from competitions.notifications.models import Notification
from competitions.notifications.services import unread_notifications
from competitions.teams.models import Membership, Registration
from competitions.web.presentation.own_cards import OwnCard, home_content, own_cards
from competitions.web.presentation.timeline import Deadline, next_deadline

CARDS: Final = 12
SHOWN: Final = 8  # of each kind; where there is a page with all of them, it is linked


@dataclass(frozen=True)
class OwnCompetition:
    """A competition that a person takes part in or organizes. `team` is empty while there is none."""

    competition: Competition
    team: str = ""
    team_id: int | None = None
    state: str = ""  # of the registration, where it is not approved
    organizes: bool = False
    card: OwnCard | None = None  # of those that the person takes part in


def _competitions(user: User) -> list[OwnCompetition]:
    """The competitions that the person organizes, then those they registered for, the newest first."""
    organized = CompetitionOrganizer.objects.filter(user=user).select_related("competition").order_by("-pk")
    own = {row.competition_id: OwnCompetition(row.competition, organizes=True) for row in organized}
    team = Membership.objects.filter(user=user, competition=OuterRef("competition"), team__is_baseline=False)
    joined: list[Any] = list(
        Registration.objects.filter(user=user, competition__is_published=True)
        .select_related("competition")
        .annotate(team_name=Subquery(team.values("team__name")), own_team=Subquery(team.values("team")))
    )
    for row in joined:
        state = "" if row.state == Registration.State.APPROVED else row.get_state_display()
        organizes = row.competition_id in own
        own[row.competition_id] = OwnCompetition(row.competition, row.team_name or "", row.own_team, state, organizes)
    return list(own.values())


def _with_cards(own: Sequence[OwnCompetition], now: datetime) -> list[OwnCompetition]:
    """Give a card to the first of those that the person takes part in; the others are links."""
    joined = [item for item in own if item.team_id is not None][:CARDS]
    cards = own_cards({item.competition: item.team_id for item in joined}, now)
    return [replace(item, card=cards.get(item.competition.pk)) for item in own]


def _deadlines(competitions: Sequence[int], now: datetime) -> list[Deadline]:
    """The next instants at which a phase of these competitions closes or opens, the soonest first."""
    phases = Phase.objects.filter(competition__in=competitions, competition__is_published=True).exclude(
        closes_at__lte=now
    )
    deadlines = (next_deadline([phase], now) for phase in phases.select_related("competition"))
    return sorted(filter(None, deadlines), key=lambda deadline: deadline.at)[:SHOWN]


@require_safe
def me(request: HttpRequest) -> HttpResponse:
    """Competitions, deadlines, invitations, runs in progress, notifications and tokens of whoever asks.

    Everything in seventeen queries, however much of it there is.
    """
    user, now = person(request), timezone.now()
    own = _with_cards(_competitions(user), now)
    rows = Notification.objects.filter(user=user).select_related("competition")
    notifications: list[Any] = list(rows.annotate(unread=unread_notifications(user))[:SHOWN])
    tokens = ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=now).order_by("expires_at")
    context = {
        "competitions": own,
        "deadlines": _deadlines([item.competition.pk for item in own], now),
        "home": home_content(user, now),
        "notifications": notifications,
        "tokens": tokens[:SHOWN],
        "unread_count": notifications[0].unread if notifications else 0,
    }
    return render(request, "web/me/me.html", context)

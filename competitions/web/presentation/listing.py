"""The list of competitions: what is one's own, runs, comes and is over, in this order."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, Exists, F, IntegerField, OuterRef, Q, QuerySet, Value, When

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.teams.models import Registration
from competitions.teams.services import team_count
from competitions.web.presentation.timeline import Deadline, next_deadline

OWN, RUNNING, COMING, OTHERS = range(4)
GROUPS: Final = {OWN: "Your competitions", RUNNING: "Running", COMING: "Coming", OTHERS: "Past"}


@dataclass(frozen=True)
class Card:
    """A competition in a list."""

    competition: Competition
    group: str
    team_count: int
    is_open: bool
    deadline: Deadline | None


def listed_for(user: User | AnonymousUser, now: datetime) -> QuerySet[Competition]:
    """The competitions that this person sees, by group, the newest of each first."""
    phases = Phase.objects.filter(competition=OuterRef("pk"))
    not_over = Q(closes_at=None) | Q(closes_at__gt=now)
    group = Case(
        *([When(_takes_part(user), then=Value(OWN))] if user.is_authenticated else []),
        When(Exists(phases.filter(not_over, opens_at__lte=now)), then=Value(RUNNING)),
        When(Exists(phases.filter(opens_at__gt=now)), then=Value(COMING)),
        default=Value(OTHERS),
        output_field=IntegerField(),
    )
    seen = Competition.objects.visible_to(user).select_related("series").prefetch_related("phases")
    return seen.annotate(group=group, team_count=team_count()).order_by(F("group"), "-created_at")


def _takes_part(user: User) -> Exists:
    return Exists(Registration.objects.filter(competition=OuterRef("pk"), user=user))


def cards_of(competitions: Iterable[Competition], now: datetime) -> list[Card]:
    """Cards of competitions that `listed_for` chose."""
    return [_card(competition, now) for competition in competitions]


def _card(competition: Any, now: datetime) -> Card:
    phases = list(competition.phases.all())
    return Card(
        competition=competition, group=GROUPS[competition.group], team_count=competition.team_count,
        is_open=any(phase.is_open(now) for phase in phases), deadline=next_deadline(phases, now),
    )  # fmt: skip

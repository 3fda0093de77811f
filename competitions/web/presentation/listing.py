"""The list of competitions: what is one's own, runs, comes and is over, in this order."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import (
    Case,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    prefetch_related_objects,
)

from accounts.models import User
from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.catalog.services import clean_tag
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import visible_columns
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.results import load_boards
from competitions.notifications.services import unread_notifications
from competitions.teams.models import Registration
from competitions.web.presentation.timeline import Deadline, next_deadline


@dataclass(frozen=True)
class BestScore:
    """The first row of the main board, as the board shows it."""

    title: str
    value: str
    team: str


def best_scores(competitions: Iterable[Competition], now: datetime) -> dict[int, BestScore]:
    """The best scores by the competition's number, in two queries, or three where scores were sealed.

    Read as a visitor who is not signed in, whoever asks: a list is not a place for what is sealed.
    """
    visitor = Reader(AnonymousUser(), now)
    phases = {each.pk: begun_phases(each, now) for each in competitions if each.is_published}
    _load_boards([phase for begun in phases.values() for phase in begun])
    best = {pk: _best(begun, visitor) for pk, begun in phases.items()}
    return {pk: score for pk, score in best.items() if score is not None}


def shown_phase(competition: Competition, now: datetime) -> Phase | None:
    """The first that is open, else the last that has begun."""
    return next(iter(begun_phases(competition, now)), None)


def begun_phases(competition: Competition, now: datetime) -> list[Phase]:
    """The open ones in their order, then those that have closed, the last first."""
    begun = [phase for phase in competition.phases.all() if phase.opens_at <= now]
    for phase in begun:
        phase.competition = competition
    return [phase for phase in begun if phase.is_open(now)] + [
        phase for phase in reversed(begun) if not phase.is_open(now)
    ]


def _load_boards(phases: list[Phase]) -> None:
    rows = Entry.objects.filter(leaderboard=OuterRef("pk"), is_baseline=False).order_by(*Entry.IN_ORDER)
    boards = Leaderboard.objects.annotate(
        best_values=Subquery(rows.values("values")[:1]), best_team=Subquery(rows.values("team__name")[:1])
    )
    prefetch_related_objects(phases, Prefetch("leaderboards", boards))
    load_boards(phases)


def _best(phases: list[Phase], visitor: Reader) -> BestScore | None:
    """The best on the first of these phases whose main board the visitor may see."""
    for board in (phase.main_board for phase in phases):
        column = primary_column(list(board.columns.all())) if board is not None else None
        if board is None or column is None or column not in visible_columns(visitor, board):
            continue
        values, team = getattr(board, "best_values", None), getattr(board, "best_team", None)
        value = column.shown_in(values) if values and not column.is_relative else None
        return BestScore(column.title, value, team) if value and team else None
    return None


OWN, RUNNING, COMING, OTHERS, DRAFTS = range(5)
MAX_WORDS: Final = 8  # of one search
GROUPS: Final = {OWN: "Your competitions", RUNNING: "Running", COMING: "Coming", OTHERS: "Past", DRAFTS: "Drafts"}
SHOWN: Final = {"own": OWN, "running": RUNNING, "coming": COMING, "past": OTHERS}  # as addresses say it
ORDERS: Final = {"newest": "-created_at", "closing": "closes_first_at", "teams": "-team_count"}


@dataclass(frozen=True)
class Card:
    """A competition in a list."""

    competition: Competition
    group: str
    team_count: int
    is_open: bool
    deadline: Deadline | None
    best: BestScore | None


def listed_for(user: User | AnonymousUser, now: datetime) -> QuerySet[Competition]:
    """The competitions that this person sees, by group, the newest of each first."""
    phases = Phase.objects.filter(competition=OuterRef("pk"))
    takes_part = Exists(Registration.objects.filter(competition=OuterRef("pk"), user=user.pk))
    not_over = Q(closes_at=None) | Q(closes_at__gt=now)
    group = Case(
        *([When(takes_part, then=Value(OWN))] if user.is_authenticated else []),
        When(is_published=False, then=Value(DRAFTS)),
        When(Exists(phases.filter(not_over, opens_at__lte=now)), then=Value(RUNNING)),
        When(Exists(phases.filter(opens_at__gt=now)), then=Value(COMING)),
        default=Value(OTHERS),
        output_field=IntegerField(),
    )
    seen = Competition.objects.visible_to(user).prefetch_related("phases")
    unread = unread_notifications(user) if isinstance(user, User) else Value(0)  # for the bell above the list
    return seen.annotate(group=group, unread=unread).order_by(F("group"), "-created_at")


def narrowed(rows: Any, now: datetime, *, words: str, show: str, order: str, tag: str = "") -> Any:
    """Filter and order `listed_for`: every word occurs in title, subtitle, host or tags; one group or tag."""
    for word in words.split()[:MAX_WORDS]:
        rows = rows.filter(_has_word(word))
    if tag:
        rows = rows.tagged(clean_tag(tag))
    if show:
        rows = rows.filter(group=SHOWN[show])
    if order == "closing":
        still_open = Phase.objects.filter(competition=OuterRef("pk"), closes_at__gt=now).order_by("closes_at")
        rows = rows.annotate(closes_first_at=Subquery(still_open.values("closes_at")[:1]))
        return rows.order_by("group", F("closes_first_at").asc(nulls_last=True), "-created_at")
    return rows.order_by("group", ORDERS[order or "newest"], "-created_at")


def _has_word(word: str) -> Q:
    in_tags = Q(tag_line__icontains=word)
    return in_tags | Q(title__icontains=word) | Q(subtitle__icontains=word) | Q(host__icontains=word)


def competition_cards(competitions: Iterable[Competition], now: datetime) -> list[Card]:
    """Cards of competitions that `listed_for` chose."""
    listed = list(competitions)
    best = best_scores(listed, now)
    return [_card(competition, best.get(competition.pk), now) for competition in listed]


def _card(competition: Any, best: BestScore | None, now: datetime) -> Card:
    phases = list(competition.phases.all())
    return Card(
        competition=competition,
        group=GROUPS[competition.group],
        team_count=competition.team_count,
        is_open=any(phase.is_open(now) for phase in phases),
        deadline=next_deadline(phases, now),
        best=best,
    )

"""A visit of a competition: the reader and the facts that pages show, in one query."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, F, FilteredRelation, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from accounts.people.blocks import blocked_by
from competitions.catalog.models import Competition, Leaderboard, PageImage, Phase
from competitions.compute.models import WORKER_SILENT_AFTER_S, ComputeWorker
from competitions.disclosure.readers import Reader, sealed_right
from competitions.disclosure.scores import SEALED, may_know_board, may_see_board
from competitions.leaderboards.reading.results import load_boards
from competitions.notifications.services import unread_notifications
from competitions.teams.models import Invitation, Registration, Team
from competitions.web.presentation.timeline import Deadline, TimelineStep, next_deadline, timeline
from competitions.winners.models import Place
from competitions.winners.services import waiting_places
from core.rows import get_or_none
from files.images import image_name
from files.markup import ShownImage

AS_MEMBER: Final = "podium.as_member"  # in the WSGI environment, by a token that may not organize


@dataclass(frozen=True)
class NextStep:
    """The button that names what to do next."""

    label: str
    url: str


@dataclass(frozen=True)
class Facts:
    """Facts that the pages of a competition show about it and, where somebody is signed in, about them."""

    registration_state: str | None = None
    accepted_rules: int | None = None
    team_id: int | None = None
    is_of_baseline: bool | None = None  # that team is a baseline: its row on a board is not this person's
    is_invited: bool = False  # somebody waits for this person's answer to an invitation to a team
    sees_sealed: bool | None = None  # of an organizer; None for all others
    unread: int = 0  # notifications that this person has not read
    # What follows is read for the pages about one's team alone.
    team_name: str | None = None
    place_id: int | None = None  # the team is invited to show that its code does what it submitted
    worker_seen_at: datetime | None = None  # when a compute worker of the competition's queue was last heard of


class Visit:
    """One person (or nobody) at one competition, at one instant.

    `as_member`: they are shown no more than a member of a team.
    """

    def __init__(
        self,
        *,
        competition: Competition,
        user: User | AnonymousUser,
        facts: Facts,
        now: datetime,
        as_member: bool = False,
    ) -> None:
        self.competition, self.user, self.facts, self.now = competition, user, facts, now
        self.as_member = as_member

    @property
    def is_organizer(self) -> bool:
        return not self.as_member and (self.facts.sees_sealed is not None or self.user.is_superuser)

    @property
    def competing_team_id(self) -> int | None:
        """The team whose row on a board is this person's own."""
        return None if self.facts.is_of_baseline else self.facts.team_id

    @property
    def is_registered(self) -> bool:
        """Approved, and under the rules in force."""
        return self.facts.registration_state == Registration.State.APPROVED and not self.rules_changed

    @property
    def rules_changed(self) -> bool:
        return self.facts.accepted_rules is not None and self.facts.accepted_rules != self.competition.rules_number

    @cached_property
    def phases(self) -> list[Phase]:
        """Phases in order, each with its competition."""
        # Sorted here: for the database, Django would compare each of their sixty columns with the order.
        return sorted(self.competition.phases.order_by(), key=attrgetter("index", "opens_at"))

    @cached_property
    def phases_with_bare_boards(self) -> list[Phase]:
        """The same phases with boards but no columns: enough to answer readers who have the page already."""
        load_boards(self.phases, columns=False)
        return self.phases

    @cached_property
    def phases_with_boards(self) -> list[Phase]:
        """The same phases, with their boards read; many pages show none."""
        load_boards(self.phases)
        return self.phases

    @property
    def open_phases(self) -> list[Phase]:
        return [phase for phase in self.phases if phase.is_open(self.now)]

    @property
    def closed_phases(self) -> list[Phase]:
        return [phase for phase in self.phases if phase.closes_at is not None and phase.closes_at <= self.now]

    @property
    def late_phases(self) -> list[Phase]:
        """Closed ones that still take submissions, unranked."""
        return [phase for phase in self.phases if phase.takes_late(self.now)]

    def phase(self, slug: str | None) -> Phase | None:
        """The phase of that name; without a name the first open one, else the last."""
        if slug:
            return next((phase for phase in self.phases if phase.slug == slug), None)
        return next(iter(self.open_phases), self.phases[-1] if self.phases else None)

    def board_phase(self, slug: str | None) -> Phase | None:
        """The phase of that name; without a name, the one that `phase` gives if the reader may see its board.

        Else another open one whose board they may see, else the last such that has begun.
        """
        default = self.phase(slug)
        if slug or default is None:
            return default
        begun = [phase for phase in self.phases if phase.opens_at <= self.now]
        for phase in (default, *self.open_phases, *reversed(begun)):
            board = self.board(phase, bare=True)
            if board is not None and phase.opens_at <= self.now and self.can_see_board(board):
                return phase
        return default

    @cached_property
    def reader(self) -> Reader:
        """The reader of this request, with the rights that were read with the competition."""
        rights = {} if self.facts.sees_sealed is None else {self.competition.pk: self.facts.sees_sealed}
        return Reader(self.user, self.now, {} if self.as_member else rights, as_member=self.as_member)

    def board(self, phase: Phase | None, key: str | None = None, *, bare: bool = False) -> Leaderboard | None:
        """The phase's board by key, else its main one, if the reader may know it; `bare`: without columns."""
        phases = self.phases_with_bare_boards if bare else self.phases_with_boards
        boards = [board for each in phases if each == phase for board in each.leaderboards.all()]
        boards = [board for board in boards if may_know_board(self.reader, board)]
        return next((board for board in boards if not key or board.key == key), None)

    @property
    def phases_with_known_boards(self) -> list[tuple[Phase, Leaderboard | None]]:
        """Each phase with its main board, where this person may know that there is one."""
        boards = [(phase, phase.main_board) for phase in self.phases_with_boards]
        return [(phase, board if board and may_know_board(self.reader, board) else None) for phase, board in boards]

    def can_see_board(self, board: Leaderboard) -> bool:
        return may_see_board(self.reader, board)

    def existing_board(self, phase_slug: str, key: str | None = None) -> Leaderboard:
        """The board of that phase by key, else its main one; 404 without one that the reader may know."""
        board = self.board(self.phase(phase_slug), key)
        if board is None:
            raise Http404
        return board

    def visible_board(self, phase_slug: str, key: str | None = None) -> Leaderboard:
        """The same board; a refusal for whoever may not see it."""
        board = self.existing_board(phase_slug, key)
        if not self.can_see_board(board):
            raise SEALED(board=board)
        return board

    @cached_property
    def place(self) -> Place | None:
        """The winners' place for which the team has something to hand in; a query only where there is one."""
        return Place.objects.get(pk=self.facts.place_id) if self.facts.place_id is not None else None

    @property
    def timeline(self) -> list[TimelineStep]:
        return timeline(self.phases, self.now)

    @property
    def deadline(self) -> Deadline | None:
        return next_deadline(self.phases, self.now)

    def url(self, name: str) -> str:
        return reverse(f"web:{name}", args=[self.competition.slug])

    @cached_property
    def _images(self) -> dict[str, PageImage]:
        return {image.name: image for image in self.competition.images.all()}

    def image_url(self, source: str) -> ShownImage | None:
        """The address of an image of the competition that a text names so; None where there is none."""
        image = self._images.get(image_name(source) or "")
        if image is None:
            return None
        url = reverse("web:image", args=[self.competition.slug, image.name])
        return ShownImage(url, f"{url}?size=small" if image.small_id else "", image.width, image.height)

    @cached_property
    def worker_is_silent(self) -> bool:
        """No worker of the queue was heard of lately, nor a launcher; known on a team's pages alone."""
        seen_at, queue = self.facts.worker_seen_at, self.competition.queue
        is_silent = seen_at is None or (self.now - seen_at).total_seconds() > WORKER_SILENT_AFTER_S
        if not is_silent or queue.is_paused:
            return False
        return all(launcher.is_silent(self.now) for launcher in queue.launchers.all())

    @property
    def next_step(self) -> NextStep | None:
        """The step that the main button names: join, see how it ended, accept new rules, make a team, submit."""
        if self.competition.rules_number is None:
            return None
        if self.facts.registration_state is None:
            return self._way_in()
        if self.rules_changed:
            return NextStep("Accept the new rules", f"{self.url('rules')}#accept")
        if self.facts.registration_state != Registration.State.APPROVED:
            return None
        if self.facts.team_id is None:
            return NextStep("Create a team", self.url("team"))
        if self.is_organizer and self.facts.is_of_baseline:
            return None
        if not self.open_phases and self.late_phases:
            return NextStep("Late submission", self.url("submissions"))
        if not self.open_phases:
            return NextStep("Your submissions", self.url("submissions"))
        return NextStep("Submit", self.url("submissions"))

    def _way_in(self) -> NextStep | None:
        """The step of somebody who takes no part; where all is over, there is nothing to join."""
        if not self.phases or self.is_organizer:
            return None
        if all(phase.is_settled(self.now) for phase in self.phases):
            return NextStep("See the results", self.url("results"))
        return NextStep("Join competition", f"{self.url('rules')}#accept")


def visit(request: HttpRequest, slug: str, *, for_team: bool = False) -> Visit:
    """The visit of this request's person. A competition that they do not see does not exist: 404.

    `for_team`: with the facts that only the pages about one's team and its submissions show.
    """
    user = request.user
    assert isinstance(user, User | AnonymousUser), "the only two kinds of user of this site"
    rows = Competition.objects.select_related("queue") if for_team else Competition.objects.all()
    facts: dict[str, object] = {}
    if isinstance(user, User):  # a person has one row of each kind at most in a competition, so the joins give one row
        facts = _facts_of_person(user, for_team=for_team)
        own = {"registration": "registrations", "role": "competitionorganizer", "membership": "memberships"}
        rows = rows.annotate(
            **{
                name: FilteredRelation(rows_of, condition=Q(**{f"{rows_of}__user": user}))
                for name, rows_of in own.items()
            }
        )
    if for_team:
        workers = ComputeWorker.objects.filter(queue=OuterRef("queue"), quarantined_at=None).order_by("-last_seen_at")
        facts["worker_seen_at"] = Subquery(workers.values("last_seen_at")[:1])
    competition = get_object_or_404(rows.annotate(**{f"fact_{name}": fact for name, fact in facts.items()}), slug=slug)
    if not competition.is_visible_to(user):
        raise Http404
    known = {name: getattr(competition, f"fact_{name}") for name in facts}
    as_member = bool(request.META.get(AS_MEMBER))
    return Visit(competition=competition, user=user, facts=Facts(**known), now=timezone.now(), as_member=as_member)


def _facts_of_person(user: User, *, for_team: bool) -> dict[str, object]:
    """Annotations of a competition that is joined to the person's `registration`, `role` and `membership`."""
    invitations = Invitation.objects.filter(
        user=user, team__competition=OuterRef("pk"), state=Invitation.State.OPEN, expires_at__gt=Now()
    )
    invitations = invitations.exclude(invited_by__in=blocked_by(user))
    facts: dict[str, object] = {
        "registration_state": F("registration__state"),
        "accepted_rules": F("registration__rules_version__number"),
        "team_id": F("membership__team"),
        "is_of_baseline": F("membership__team__is_baseline"),
        "is_invited": Exists(invitations),
        "sees_sealed": sealed_right("role"),
        "unread": unread_notifications(user),
    }
    if for_team:
        places = waiting_places().filter(team=OuterRef("membership__team"))
        facts |= {"team_name": F("membership__team__name"), "place_id": Subquery(places.values("pk")[:1])}
    return facts


def team_of_visit(visited: Visit) -> Team | None:
    if visited.facts.team_id is None:
        return None
    return get_or_none(Team.objects.select_related("captain").filter(pk=visited.facts.team_id))

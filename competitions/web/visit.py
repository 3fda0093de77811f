"""Who looks at which competition: everything the pages ask about it, in two queries at any size of competition."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Competition, CompetitionOrganizer, Phase, RulesVersion
from competitions.catalog.rights import sealed_right_used
from competitions.compute.models import ComputeWorker
from competitions.factsheets.models import Question
from competitions.leaderboards.loading import attach_boards
from competitions.leaderboards.models import Leaderboard
from competitions.leaderboards.visibility import scores_visible
from competitions.teams.models import Invitation, Registration, Team
from core.composed import Composed


@dataclass(frozen=True)
class NextStep:
    """The button that names what to do next."""

    label: str
    url: str


class Visit:
    """One person (or nobody) at one competition, at one instant."""

    def __init__(self, *, competition: Competition, user: User | AnonymousUser, now: datetime) -> None:
        self.competition, self.user, self.now = competition, user, now
        self._recorded: set[int] = set()  # phases whose sealed scores this visit has seen

    def _fact(self, name: str) -> object:
        return getattr(self.competition, f"visit_{name}", None)  # nobody signed in: no facts about them

    @property
    def current_rules(self) -> int | None:
        return self._fact("current_rules")  # type: ignore[return-value]  # an annotation

    @property
    def accepted_rules(self) -> int | None:
        return self._fact("accepted_rules")  # type: ignore[return-value]

    @property
    def registration_state(self) -> str | None:
        return self._fact("registration_state")  # type: ignore[return-value]

    @property
    def team_name(self) -> str | None:
        return self._fact("team_name")  # type: ignore[return-value]

    @property
    def team_id(self) -> int | None:
        return self._fact("team_id")  # type: ignore[return-value]

    @property
    def is_invited(self) -> bool:
        """Somebody waits for this person's answer to an invitation to a team."""
        return bool(self._fact("is_invited"))

    @property
    def worker_seen_at(self) -> datetime | None:
        """When a compute worker of the competition's queue was last heard of."""
        return self._fact("worker_seen_at")  # type: ignore[return-value]

    @property
    def series_slug(self) -> str | None:
        """Of the series that the competition is a track of."""
        return self._fact("series_slug")  # type: ignore[return-value]

    @property
    def series_title(self) -> str | None:
        return self._fact("series_title")  # type: ignore[return-value]

    @property
    def queue_contact(self) -> str:
        """Who runs the workers of the competition's queue."""
        return str(self._fact("queue_contact") or "")

    @property
    def has_questions(self) -> bool:
        """Submissions come with a fact sheet."""
        return bool(self._fact("has_questions"))

    @property
    def is_organizer(self) -> bool:
        return bool(self._fact("is_organizer")) or self.user.is_superuser

    @property
    def is_registered(self) -> bool:
        """Approved, and under the rules in force."""
        return self.registration_state == Registration.State.APPROVED and not self.rules_changed

    @property
    def rules_changed(self) -> bool:
        return self.accepted_rules is not None and self.accepted_rules != self.current_rules

    @cached_property
    def phases(self) -> list[Phase]:
        """Phases in order, each with its competition and its boards."""
        phases = _ask_phases(competition=self.competition.pk)
        for phase in phases:
            phase.competition = self.competition
        attach_boards(phases)
        return phases

    @property
    def open_phases(self) -> list[Phase]:
        return [phase for phase in self.phases if phase.is_open(self.now)]

    @property
    def late_phases(self) -> list[Phase]:
        """Closed ones that still take submissions, unranked."""
        return [phase for phase in self.phases if phase.takes_late(self.now)]

    def phase(self, slug: str | None) -> Phase | None:
        """The phase of that name; without a name the first open one, else the last."""
        if slug:
            return next((phase for phase in self.phases if phase.slug == slug), None)
        return next(iter(self.open_phases), self.phases[-1] if self.phases else None)

    def can_see_scores(self, board: Leaderboard) -> bool:
        has_right = bool(self._fact("sees_sealed"))
        if has_right and board.is_sealed and board.phase_id not in self._recorded:
            self._recorded.add(board.phase_id)
            sealed_right_used(self.user, board.phase, self.now)
        return scores_visible(board, sealed_right=has_right)

    def can_see_board(self, board: Leaderboard) -> bool:
        return (not board.is_hidden or self.is_organizer) and self.can_see_scores(board)

    def url(self, name: str) -> str:
        return reverse(f"web:{name}", args=[self.competition.slug])

    @property
    def next_step(self) -> NextStep | None:
        """What the main button says: join, accept new rules, make a team, submit."""
        if self.current_rules is None:
            return None
        if self.registration_state is None:
            return NextStep("Join competition", self.url("rules"))
        if self.rules_changed:
            return NextStep("Accept the new rules", self.url("rules"))
        if self.registration_state != Registration.State.APPROVED:
            return None
        if self.team_id is None:
            return NextStep("Create a team", self.url("team"))
        if not self.open_phases and self.late_phases:
            return NextStep("Late submission", self.url("submissions"))
        if not self.open_phases:
            return NextStep("Your submissions", self.url("submissions"))
        return NextStep("Submit", self.url("submissions"))


def _annotated(user: User | AnonymousUser) -> QuerySet[Competition]:
    rules = RulesVersion.objects.filter(competition=OuterRef("pk")).order_by("-number")
    seen = Competition.objects.visible_to(user).annotate(
        visit_current_rules=Subquery(rules.values("number")[:1]),
        visit_series_slug=F("series__slug"),
        visit_series_title=F("series__title"),
        visit_has_questions=Exists(Question.objects.filter(competition=OuterRef("pk"))),
    )
    if not user.is_authenticated:
        return seen
    who = user.pk
    registration = Registration.objects.filter(competition=OuterRef("pk"), user_id=who)
    team = Team.objects.filter(memberships__user_id=who, memberships__competition=OuterRef("pk"))
    organizer = CompetitionOrganizer.objects.filter(competition=OuterRef("pk"), user_id=who)
    invitation = Invitation.objects.filter(
        user_id=who, team__competition=OuterRef("pk"), state=Invitation.State.OPEN, expires_at__gt=Now()
    )
    workers = ComputeWorker.objects.filter(queue=OuterRef("queue"), quarantined_at=None).order_by("-last_seen_at")
    return seen.annotate(
        visit_registration_state=Subquery(registration.values("state")[:1]),
        visit_accepted_rules=Subquery(registration.values("rules_version__number")[:1]),
        visit_team_id=Subquery(team.order_by().values("pk")[:1]),
        visit_team_name=Subquery(team.order_by().values("name")[:1]),
        visit_is_invited=Exists(invitation),
        visit_queue_contact=F("queue__contact"),
        visit_worker_seen_at=Subquery(workers.values("last_seen_at")[:1]),
        visit_is_organizer=Exists(organizer),
        visit_sees_sealed=Exists(organizer.filter(can_see_sealed=True)),
    )


# One for each kind of person: they are asked by every page of a competition.
_ask_visitor = Composed(lambda slug: _annotated(AnonymousUser()).filter(slug=slug).order_by())
_ask_member = Composed(lambda slug, user: _annotated(User(pk=user)).filter(slug=slug).order_by())
_ask_administrator = Composed(
    lambda slug, user: _annotated(User(pk=user, is_superuser=True)).filter(slug=slug).order_by()
)
_ask_phases = Composed(lambda competition: Phase.objects.filter(competition=competition))


def visit(request: HttpRequest, slug: str) -> Visit:
    """The visit of this request's person. A competition that they do not see does not exist: 404."""
    user = request.user
    assert isinstance(user, User | AnonymousUser), "the only two kinds of user of this site"
    if user.pk is None:
        found = _ask_visitor(slug=slug)
    else:
        found = (_ask_administrator if user.is_superuser else _ask_member)(slug=slug, user=user.pk)
    if not found:
        raise Http404
    return Visit(competition=found[0], user=user, now=timezone.now())


def team_of_visit(visited: Visit) -> Team | None:
    return Team.objects.select_related("captain").filter(pk=visited.team_id).first() if visited.team_id else None

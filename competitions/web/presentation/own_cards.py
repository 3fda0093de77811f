"""Cards of one's competitions, and one's open items: winners' places, invitations, runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, OuterRef, Subquery, prefetch_related_objects

from accounts.models import User
from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import visible_columns
from competitions.leaderboards.models import DailyRank, Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.results import load_boards
from competitions.people.public import entry_ranks
from competitions.submissions.models import Submission
from competitions.submissions.quota import Allowance, least_left
from competitions.submissions.states import LIVE
from competitions.teams.models import Invitation
from competitions.web.presentation.listing import shown_phase
from competitions.web.presentation.timeline import Deadline, next_deadline
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


@dataclass(frozen=True)
class Standing:
    """The team's row on the main board of a phase, as everybody sees it."""

    rank: int
    of: int
    change: int  # places gained since yesterday
    score: str
    column: str

    @property
    def fall(self) -> int:
        return -self.change


@dataclass(frozen=True)
class OwnCard:
    """One competition of a person, with the phase that is open or was last."""

    competition: Competition
    phase: Phase | None
    standing: Standing | None
    left: Allowance | None
    running: int
    deadline: Deadline | None


def own_cards(teams: Mapping[Competition, int | None], now: datetime) -> dict[int, OwnCard]:
    """Cards by the competition's number, in nine queries at most.

    `teams`: the person's team in each, if there is one.
    """
    prefetch_related_objects(list(teams), "phases")
    phases = {competition.pk: phase for competition in teams if (phase := shown_phase(competition, now)) is not None}
    of_phase = {
        phases[contest.pk]: team for contest, team in teams.items() if team is not None and contest.pk in phases
    }
    standings, running = _standings(of_phase, now), _running(of_phase.values())
    left = least_left({phase: team for phase, team in of_phase.items() if phase.is_open(now)}, now)
    return {
        contest.pk: OwnCard(
            competition=contest,
            phase=(phase := phases.get(contest.pk)),
            standing=standings.get(phase.pk) if phase else None,
            left=left.get(phase.pk) if phase else None,
            running=running.get(team, 0) if team else 0,
            deadline=next_deadline(list(contest.phases.all()), now),
        )
        for contest, team in teams.items()
    }


def _running(teams: Iterable[int]) -> dict[int, int]:
    """The number of submissions in progress, by team."""
    live = Submission.objects.filter(team__in=list(teams), status__in=LIVE, is_check=False, is_verification=False)
    return dict(live.order_by().values("team").annotate(number=Count("pk")).values_list("team", "number"))


def _standings(teams: Mapping[Phase, int], now: datetime) -> dict[int, Standing]:
    """The standings by the phase's number, read as a visitor sees them, so nothing sealed is in them."""
    visitor = Reader(AnonymousUser(), now)
    load_boards(list(teams))
    boards: dict[int, tuple[Leaderboard, int]] = {}
    for phase, team in teams.items():
        board = phase.main_board
        column = primary_column(list(board.columns.all())) if board is not None else None
        if board is not None and column in visible_columns(visitor, board):
            boards[board.pk] = board, team
    rows = _best_rows(boards)
    ranks = entry_ranks([row.pk for row in rows.values()])
    before = _ranks_before(boards)
    return {
        board.phase_id: _standing(board, rows[pk], *ranks[rows[pk].pk], before.get(pk))
        for pk, (board, _) in boards.items()
        if pk in rows
    }


def _standing(board: Leaderboard, row: Entry, rank: int, of: int, before: int | None) -> Standing:
    column = primary_column(list(board.columns.all()))
    score = column.shown_in(row.values) if column is not None else None
    change = before - rank if before is not None else 0
    return Standing(rank, of, change, score or "", column.title if column is not None else "")


def _best_rows(boards: Mapping[int, tuple[Leaderboard, int]]) -> dict[int, Entry]:
    """The best row of the team on each board; a team's rows are on boards of its competition alone."""
    teams = [team for _, team in boards.values()]
    of_team = Entry.objects.filter(leaderboard=OuterRef("pk"), team__in=teams, is_baseline=False)
    best = Subquery(of_team.order_by(*Entry.IN_ORDER).values("pk")[:1])
    best_of_boards = Leaderboard.objects.filter(pk__in=boards).annotate(best=best).order_by().values("best")
    return {row.leaderboard_id: row for row in Entry.objects.filter(pk__in=best_of_boards)}


def _ranks_before(boards: Mapping[int, tuple[Leaderboard, int]]) -> dict[int, int]:
    """Each team's rank at the start of the day, by board."""
    noted = DailyRank.objects.filter(leaderboard__in=boards, team__in=[team for _, team in boards.values()])
    return dict(noted.values_list("leaderboard", "rank"))

"""Everything that anybody may know of a person: teams, and final ranks on public boards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from accounts.models import Profile, User
from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.disclosure.readers import Reader, reader_for
from competitions.disclosure.scores import may_see_board
from competitions.leaderboards.models import Entry
from competitions.leaderboards.reading.results import load_boards
from competitions.leaderboards.reading.uncertainty import row_uncertainty
from competitions.teams.models import Membership, Registration, Team

COMPETITIONS_SHOWN: Final = 50
ROWS_READ: Final = 500
RANKS_SHOWN: Final = 30


@dataclass(frozen=True)
class PublicRank:
    """A final place: `tier` and `rank_range` where the board says how sure it is."""

    entry: Entry
    board: Leaderboard
    rank: int
    of: int

    @property
    def competition(self) -> Competition:
        return self.board.phase.competition

    @property
    def tier(self) -> int | None:
        sure = row_uncertainty(self.board, self.entry)
        return sure.tier if sure else None

    @property
    def rank_range(self) -> str:
        sure = row_uncertainty(self.board, self.entry)
        return sure.rank_range if sure else ""


@dataclass(frozen=True)
class PublicTeam:
    """A team; `has_page`: a board that everybody sees shows it."""

    team: Team
    competition: Competition
    has_page: bool


@dataclass(frozen=True)
class PublicRecord:
    """The lists of a profile, as far as its person wants them."""

    competitions: Sequence[Competition] = ()
    teams: Sequence[PublicTeam] = ()
    ranks: Sequence[PublicRank] = ()


def public_record(profile: Profile, now: datetime) -> PublicRecord:
    """The lists of a profile, in six queries at most. Nothing in them depends on who reads."""
    if not (profile.shows_competitions or profile.shows_ranks or profile.shows_teams):
        return PublicRecord()
    joined = _joined(profile.user)
    teams = {competition.pk: team for competition, team in joined if team is not None}
    rows: dict[int, list[Entry]] = {}
    if teams and (profile.shows_ranks or profile.shows_teams):
        rows = _public_rows([team.pk for team in teams.values()], reader_for(AnonymousUser(), now))
    return PublicRecord(
        competitions=[competition for competition, _ in joined] if profile.shows_competitions else [],
        teams=[
            PublicTeam(team, competition, team.pk in rows)
            for competition, team in joined
            if team is not None and profile.shows_teams
        ],
        ranks=list(_ranks(rows, now)) if profile.shows_ranks else [],
    )


def _joined(user: User) -> list[tuple[Competition, Team | None]]:
    """Published competitions that admitted the person, the newest first, with their team; one query."""
    own = Membership.objects.filter(user=user, competition=OuterRef("competition"))
    facts: dict[str, object] = {f"team_{name}": Subquery(own.values(f"team__{name}")) for name in ("id", "name", "key")}
    rows: Iterable[Any] = (
        Registration.objects.filter(user=user, state=Registration.State.APPROVED)
        .filter(competition__in=Competition.objects.visible_to(AnonymousUser()))
        .select_related("competition")
        .annotate(**facts)[:COMPETITIONS_SHOWN]
    )
    return [
        (row.competition, Team(pk=row.team_id, name=row.team_name, key=row.team_key) if row.team_id else None)
        for row in rows
    ]


def _public_rows(teams: Sequence[int], reader: Reader) -> dict[int, list[Entry]]:
    """The best row of each team on each board that this reader sees, by team."""
    entries = Entry.objects.filter(team__in=teams, is_baseline=False).select_related(
        "leaderboard__phase__competition", "uncertainty"
    )
    best: dict[tuple[int, int], Entry] = {}
    for entry in entries.order_by(*Entry.IN_ORDER)[:ROWS_READ]:
        best.setdefault((entry.leaderboard_id, entry.team_id), entry)
    phases: dict[int, Phase] = {entry.leaderboard.phase_id: entry.leaderboard.phase for entry in best.values()}
    load_boards(list(phases.values()))
    boards = {board.pk: board for phase in phases.values() for board in phase.leaderboards.all()}
    seen: dict[int, list[Entry]] = {}
    for entry in best.values():
        entry.leaderboard = boards[entry.leaderboard_id]
        if may_see_board(reader, entry.leaderboard):
            seen.setdefault(entry.team_id, []).append(entry)
    return seen


def final_ranks(team: Team, now: datetime) -> list[PublicRank]:
    """The team's places on boards that everybody sees and to which nothing more comes."""
    return list(_ranks(_public_rows([team.pk], reader_for(AnonymousUser(), now)), now))


def _ranks(rows: Mapping[int, list[Entry]], now: datetime) -> Iterator[PublicRank]:
    """Places on boards to which nothing more comes, the newest phase first."""
    final = [entry for entries in rows.values() for entry in entries if entry.leaderboard.phase.is_settled(now)]
    final.sort(key=lambda entry: (entry.leaderboard.phase.closes_at, entry.leaderboard_id), reverse=True)
    ranks = entry_ranks([entry.pk for entry in final[:RANKS_SHOWN]])
    return (PublicRank(entry, entry.leaderboard, *ranks[entry.pk]) for entry in final[:RANKS_SHOWN])


def entry_ranks(entries: Sequence[int]) -> dict[int, tuple[int, int]]:
    """The rank of each of these rows, and how many are ranked on its board; in one query."""
    ranked = Entry.objects.filter(leaderboard=OuterRef("leaderboard"), is_baseline=False)
    better = ranked.filter(
        Q(rank_value__lt=OuterRef("rank_value")) | Q(rank_value=OuterRef("rank_value"), tie_key__lt=OuterRef("tie_key"))
    )
    ahead, ranked_count = (
        Coalesce(Subquery(rows.order_by().values("leaderboard").annotate(number=Count("pk")).values("number")), 0)
        for rows in (better, ranked)
    )
    rows = Entry.objects.filter(pk__in=entries).annotate(ahead=ahead, rank=F("ahead") + 1, of=ranked_count)
    return {pk: (rank, of) for pk, rank, of in rows.values_list("pk", "rank", "of")}

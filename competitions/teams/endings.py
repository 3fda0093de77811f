"""The end of changes to who is in which team: from then on results stand."""

from datetime import datetime

from django.db.models import Q

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.teams import refusals
from competitions.teams.models import Team


def teams_settled_by(competition: Competition, now: datetime) -> Phase | None:
    """The phase whose close settled the teams: a sealed one, or the last that closes."""
    is_sealed = Q(visibility=Phase.Visibility.SEALED) | Q(leaderboards__visibility=Leaderboard.Visibility.SEALED)
    phases = Phase.objects.filter(competition=competition)
    closed = phases.filter(closes_at__lte=now).order_by("closes_at")
    goes_on = phases.filter(Q(closes_at=None) | Q(closes_at__gt=now)).exists()
    return closed.filter(is_sealed).first() if goes_on else closed.last()


def takes_members(team: Team, now: datetime) -> bool:
    """True while others may join: as long as teams are not settled, and later if it has submitted nothing."""
    return _takes_members(team, teams_settled_by(team.competition, now))


def require_takes_members(team: Team, now: datetime) -> None:
    """Raises `MEMBERS_STAND`: whoever joined now would have a part in results that others made."""
    settled_by = teams_settled_by(team.competition, now)
    if not _takes_members(team, settled_by):
        raise refusals.MEMBERS_STAND(phase=settled_by, team=team)


def _takes_members(team: Team, settled_by: Phase | None) -> bool:
    return settled_by is None or not team.submissions.exists()

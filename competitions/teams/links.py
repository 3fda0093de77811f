"""Invitation links of captains: signed, revocable, for a number of people and days."""

from datetime import datetime, timedelta
from typing import Final

from django.core import signing
from django.db import transaction
from django.db.models import F

from accounts.models import User
from competitions.teams import refusals
from competitions.teams.endings import require_takes_members
from competitions.teams.models import InvitationLink, Team
from competitions.teams.services import locked_team, require_admitted, require_captain, team_join
from core.rows import get_or_none

MOST_LIVE: Final = 5
MOST_DAYS: Final = 30
_signer: Final = signing.Signer(salt="podium.teams.links")


def signed_token(link: InvitationLink) -> str:
    """The signed token in the link's address: nobody can guess one, or derive it from another."""
    return _signer.sign(link.key.hex)


def link_by_token(token: str) -> InvitationLink | None:
    """The link, live or not; None where the token is not ours."""
    try:
        key = _signer.unsign(token)
    except signing.BadSignature:
        return None
    return InvitationLink.objects.select_related("team__competition", "made_by").filter(key=key).first()


def is_live(link: InvitationLink, now: datetime) -> bool:
    """True while people can join by it. A team that was merged into another invites nobody."""
    return link.is_open(now) and link.team.merged_into_id is None


def live_links(team: Team, now: datetime) -> list[InvitationLink]:
    """The team's links that still work, the newest first."""
    return list(team.invitation_links.filter(revoked_at=None, expires_at__gt=now, uses__lt=F("max_uses")))


@transaction.atomic
def link_make(*, team: Team, by: User, max_uses: int, days: int, now: datetime) -> InvitationLink:
    """Make a link.

    Raises `NOT_CAPTAIN`, `LINK_OUT_OF_BOUNDS`, `TOO_MANY_LINKS`, `MEMBERS_STAND` or why the captain is not admitted.
    """
    team = locked_team(team)
    require_captain(team, by)
    require_admitted(user=by, competition=team.competition)
    require_takes_members(team, now)
    most = team.competition.max_team_size
    if not 1 <= max_uses <= most or not 1 <= days <= MOST_DAYS:
        raise refusals.LINK_OUT_OF_BOUNDS(most_people=most, most_days=MOST_DAYS)
    if len(live_links(team, now)) >= MOST_LIVE:
        raise refusals.TOO_MANY_LINKS(limit=MOST_LIVE)
    return InvitationLink.objects.create(
        team=team, made_by=by, max_uses=max_uses, created_at=now, expires_at=now + timedelta(days=days)
    )


def link_revoke(*, link: InvitationLink, by: User, now: datetime) -> None:
    """End a link; who joined by it stays. Raises `NOT_CAPTAIN`."""
    require_captain(link.team, by)
    InvitationLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=now)


@transaction.atomic
def link_accept(*, link: InvitationLink, by: User, now: datetime) -> Team:
    """Join the team by its link, by the rules of an invitation.

    Raises `LINK_OVER` or as `team_join`.
    """

    def admit(team: Team) -> None:
        """Under the team's lock, so that a link's last use is given once."""
        current = get_or_none(InvitationLink.objects.select_for_update().filter(pk=link.pk))
        if current is None or not current.is_open(now) or team.merged_into_id is not None:
            raise refusals.LINK_OVER()
        InvitationLink.objects.filter(pk=link.pk).update(uses=F("uses") + 1)

    return team_join(team=link.team, by=by, admit=admit, now=now)

"""Telling the teams whose scores were revealed, once."""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Phase
from competitions.disclosure.scores import boards_to_announce
from competitions.leaderboards.models import Score
from competitions.notifications.models import Kind
from competitions.notifications.services import notify

log = structlog.get_logger(__name__)
TOO_LATE_AFTER: Final = timedelta(days=2)  # a reveal of long ago, before an upgrade for instance, is told to nobody


def reveals_notify(*, now: datetime) -> int:
    """For the reconciler: tell the members of the teams with scores that were revealed; returns how many."""
    unannounced = Phase.objects.filter(reveal_told_at=None, revealed_at__gt=now - TOO_LATE_AFTER).select_related(
        "competition"
    )
    return sum(_notify(phase, now) for phase in unannounced)


@transaction.atomic
def _notify(phase: Phase, now: datetime) -> int:
    """The phase is marked first, so that of two reconcilers one tells."""
    if not Phase.objects.filter(pk=phase.pk, reveal_told_at=None).update(reveal_told_at=now):
        return 0
    boards = boards_to_announce(phase)
    teams = Score.objects.filter(leaderboard__in=boards, is_eligible=True, team__is_baseline=False).values("team")
    number = notify(
        people=User.objects.filter(memberships__team__in=teams),
        kind=Kind.REVEAL,
        competition=phase.competition,
        subject=f"The scores of {phase.name} in {phase.competition} are public",
        text=f"The organizers of “{phase.competition}” have revealed the scores of “{phase.name}”. Your team's score and rank stand "
        "on the leaderboard.",
        path=f"/competitions/{phase.competition.slug}/leaderboard/?phase={phase.slug}",
    )
    log.info("reveal_told", phase=phase.pk, people=number)
    return number

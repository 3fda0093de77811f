"""Telling teams that their scores were revealed: a mail to each captain, once."""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db.models import Q

from accounts.mail import mail_to_all
from accounts.models import User
from competitions.catalog.models import Leaderboard, Phase
from competitions.leaderboards.models import Score

log = structlog.get_logger(__name__)
NO_NEWS_AFTER: Final = timedelta(days=2)  # a reveal of long ago, before an upgrade for instance, is told to nobody


def reveals_tell(*, now: datetime) -> int:
    """For the reconciler: mail the captains of the teams with scores that were revealed; returns how many.

    The phase is marked first, so that two reconcilers, or a round that is cut short, tell nobody twice.
    """
    untold = Phase.objects.filter(reveal_told_at=None, revealed_at__gt=now - NO_NEWS_AFTER).select_related(
        "competition"
    )
    return sum(_tell(phase) for phase in untold if _is_mine(phase, now))


def _is_mine(phase: Phase, now: datetime) -> bool:
    return bool(Phase.objects.filter(pk=phase.pk, reveal_told_at=None).update(reveal_told_at=now))


def _tell(phase: Phase) -> int:
    was_sealed = Q(phase__visibility=Phase.Visibility.SEALED) | Q(visibility=Leaderboard.Visibility.SEALED)
    opened = Leaderboard.objects.filter(was_sealed | Q(sealed_keys__isnull=False), phase=phase, is_hidden=False)
    teams = Score.objects.filter(leaderboard__in=opened, is_eligible=True, team__is_baseline=False).values(
        "team__captain"
    )
    sent = mail_to_all(
        people=User.objects.filter(pk__in=teams, is_active=True).order_by("pk"),
        subject=f"The scores of {phase.name} in {phase.competition} are public",
        text=f"The organizers of “{phase.competition}” have revealed the scores of “{phase.name}”. Your team's score and rank stand "
        "on the leaderboard.",
        path=f"/competitions/{phase.competition.slug}/leaderboard/?phase={phase.slug}",
    )
    log.info("reveal_told", phase=phase.pk, mails=sent)
    return sent

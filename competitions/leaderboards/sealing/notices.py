"""Mails to captains whose scores were revealed, once."""

from datetime import datetime, timedelta
from typing import Final

import structlog

from accounts.mail import mail_to_all
from accounts.models import User
from competitions.catalog.models import Phase
from competitions.disclosure.scores import boards_to_announce
from competitions.leaderboards.models import Score

log = structlog.get_logger(__name__)
TOO_LATE_AFTER: Final = timedelta(days=2)  # a reveal of long ago, before an upgrade for instance, is mailed to nobody


def captains_notify(*, now: datetime) -> int:
    """For the reconciler: mail the captains of the teams with scores that were revealed; returns how many.

    The phase is marked first, so that two reconcilers, or a round that is cut short, tell nobody twice.
    """
    unannounced = Phase.objects.filter(reveal_told_at=None, revealed_at__gt=now - TOO_LATE_AFTER).select_related(
        "competition"
    )
    return sum(_notify(phase) for phase in unannounced if _is_first(phase, now))


def _is_first(phase: Phase, now: datetime) -> bool:
    return bool(Phase.objects.filter(pk=phase.pk, reveal_told_at=None).update(reveal_told_at=now))


def _notify(phase: Phase) -> int:
    boards = boards_to_announce(phase)
    teams = Score.objects.filter(leaderboard__in=boards, is_eligible=True, team__is_baseline=False).values(
        "team__captain"
    )
    sent = mail_to_all(
        people=User.objects.filter(pk__in=teams, is_active=True).order_by("pk"),
        subject=f"The scores of {phase.name} in {phase.competition} are public",
        text=f"The organizers of “{phase.competition}” have revealed the scores of “{phase.name}”. Your team's score and rank stand "
        "on the leaderboard.",
        path=f"/competitions/{phase.competition.slug}/leaderboard/?phase={phase.slug}",
    )
    log.info("captains_notified", phase=phase.pk, mails=sent)
    return sent

"""Auto-migration: at the start of a phase, the submissions that count in the phase before are run in it, once."""

from datetime import datetime

import structlog
from django.db import transaction

from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.sealed_keys import published_by
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.rules import TELLS_NO_SCORE
from competitions.runs.reruns import submission_migrate
from competitions.submissions.models import Submission

log = structlog.get_logger(__name__)


def phases_migrate(*, now: datetime) -> int:
    """Carry submissions into every phase that has begun and wants it; returns how many. Safe to run twice, or at once."""
    begun = Phase.objects.filter(auto_migrate_to_this_phase=True, migrated_at=None, opens_at__lte=now)
    return sum(phase_migrate(phase=phase, now=now) for phase in begun)


@transaction.atomic
def phase_migrate(*, phase: Phase, now: datetime) -> int:
    """Carry over what counts in the phase before, all of it or nothing; 0 where this has been done, or waits for a reveal."""
    before = Phase.objects.filter(competition=phase.competition_id, index__lt=phase.index).order_by("-index").first()
    if before is not None and (_would_tell(before) or published_by(phase, phase.tasks.all())):
        return 0
    if not Phase.objects.filter(pk=phase.pk, migrated_at=None).update(migrated_at=now):
        return 0  # somebody else is at it, or has done it: the row was locked until then
    if before is None or not phase.tasks.exists():
        return 0
    rows = Entry.objects.filter(leaderboard__phase=before)
    # What counts on a sealed part of it alone would be told by being carried over.
    counting = rows.exclude(leaderboard__in=_sealed_portions(before)).values("score__submission")
    chosen = Submission.objects.filter(pk__in=counting).select_related("submitted_by", "team", "phase").order_by("pk")
    made = [submission_migrate(submission=one, phase=phase, by=one.submitted_by, now=now) for one in chosen]
    count = sum(one is not None for one in made)
    log.info("phase_migrated", phase=phase.pk, submissions=count)
    return count


def _sealed_portions(phase: Phase) -> list[Leaderboard]:
    """Boards that are sealed by themselves, or were, whatever their settings say now."""
    boards = Leaderboard.objects.filter(phase=phase).select_related("phase")
    own = Leaderboard.Visibility.SEALED
    return [one for one in boards if one.visibility == own or (one.is_sealed and not phase.is_sealed)]


def _would_tell(before: Phase) -> bool:
    """Which of a team's submissions is its best on a sealed board would be told by being carried over."""
    boards = before.leaderboards.filter(visibility=Leaderboard.Visibility.AS_PHASE)
    return before.is_sealed and boards.exclude(rule__in=TELLS_NO_SCORE).exists()

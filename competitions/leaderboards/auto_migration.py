"""Auto-migration: a phase begins with the submissions that count in the phase before, once."""

from datetime import datetime
from functools import partial

import structlog
from django.db import transaction

from competitions.catalog.models import Phase
from competitions.catalog.sealed_keys import published_by
from competitions.disclosure.scores import boards_to_carry_over
from competitions.leaderboards.models import Entry
from competitions.runs.reruns import submission_migrate
from competitions.submissions.models import Submission
from core.reconciler import run_guarded

log = structlog.get_logger(__name__)


def phases_migrate(*, now: datetime) -> int:
    """Carry submissions into every phase that has begun and wants it; returns how many.

    Safe to run twice, or at once; a phase that fails holds up no other.
    """
    begun = Phase.objects.filter(auto_migrate_to_this_phase=True, migrated_at=None, opens_at__lte=now)
    return sum(run_guarded("submissions_migrated", partial(phase_migrate, phase=phase), now=now) for phase in begun)


@transaction.atomic
def phase_migrate(*, phase: Phase, now: datetime) -> int:
    """Carry over all that counts in the phase before, or nothing; 0 if done before or awaiting a reveal."""
    before = Phase.objects.filter(competition=phase.competition_id, index__lt=phase.index).order_by("-index").first()
    boards = boards_to_carry_over(before) if before is not None else []
    if boards is None or (before is not None and published_by(phase, phase.tasks.all())):
        return 0
    if not Phase.objects.filter(pk=phase.pk, migrated_at=None).update(migrated_at=now):
        return 0  # somebody else is at it, or has done it: the row was locked until then
    if before is None or not phase.tasks.exists():
        return 0
    counting = Entry.objects.filter(leaderboard__in=boards).values("score__submission")
    chosen = Submission.objects.filter(pk__in=counting).select_related("submitted_by", "team", "phase").order_by("pk")
    copies = [
        submission_migrate(submission=submission, phase=phase, by=submission.submitted_by, now=now)
        for submission in chosen
    ]
    count = sum(copy is not None for copy in copies)
    log.info("phase_migrated", phase=phase.pk, submissions=count)
    return count

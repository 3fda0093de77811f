"""Asking for the check of a submission's file, and no longer asking for it."""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from competitions.submissions.models import FileCheck, Submission
from competitions.submissions.refusals import TooManyRefusedFiles
from competitions.teams.models import Team
from core.background.jobs import send_after_commit

CHECK_JOB: Final = "file-check"


def check_request(*, submission: Submission, now: datetime) -> FileCheck:
    """Have the file checked by a background process, after the commit."""
    asked = {
        "requested_at": now, "finished_at": None, "outcome": FileCheck.Outcome.WAITING, "attempts": 0, "sent_at": None,
        "claim_id": None, "claimed_until": None,
    }  # fmt: skip
    check, _ = FileCheck.objects.update_or_create(submission=submission, defaults=asked)
    send_after_commit(CHECK_JOB, check.pk)
    return check


def check_cancel(*, submission: Submission, now: datetime) -> None:
    """Ask no longer: a process that reads the file stops when it next renews its claim."""
    waiting = FileCheck.objects.filter(submission=submission, outcome=FileCheck.Outcome.WAITING)
    waiting.update(outcome=FileCheck.Outcome.CANCELLED, finished_at=now, claimed_until=None)


def require_checks_left(*, team: Team, now: datetime) -> None:
    """Raise `TooManyRefusedFiles` when the team has had its share of files that were read for nothing."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if refused_since(team, midnight) >= settings.REFUSED_FILES_PER_DAY:
        raise TooManyRefusedFiles(limit=settings.REFUSED_FILES_PER_DAY, resets_at=midnight + timedelta(days=1))


def refused_since(team: Team, since: datetime) -> int:
    """Files of the team that were refused, or whose check was cancelled after it had begun."""
    outcomes = FileCheck.Outcome
    counted = FileCheck.objects.filter(submission__team=team, requested_at__gte=since, attempts__gt=0)
    return counted.filter(outcome__in=(outcomes.REFUSED, outcomes.CANCELLED)).count()

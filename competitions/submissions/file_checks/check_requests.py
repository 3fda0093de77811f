"""Asking for the check of a submission's file, and no longer asking for it."""

from datetime import datetime
from typing import Final

from competitions.submissions.models import FileCheck, Submission
from core.background.jobs import send_after_commit

CHECK_JOB: Final = "file-check"


def check_request(*, submission: Submission, now: datetime) -> FileCheck:
    """Have the file checked by a background process, after the commit."""
    asked = {
        "requested_at": now,
        "finished_at": None,
        "outcome": FileCheck.Status.WAITING,
        "attempts": 0,
        "claim_id": None,
        "claimed_until": None,
    }
    check, _ = FileCheck.objects.update_or_create(submission=submission, defaults=asked)
    send_after_commit(CHECK_JOB, check.pk)
    return check


def check_cancel(*, submission: Submission, now: datetime) -> None:
    """Ask no longer: a process that reads the file stops when it next renews its claim."""
    waiting = FileCheck.objects.filter(submission=submission, outcome=FileCheck.Status.WAITING)
    waiting.update(outcome=FileCheck.Status.CANCELLED, finished_at=now, claimed_until=None)

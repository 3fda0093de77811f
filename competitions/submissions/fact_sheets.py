"""Changing a submission's fact sheet after it was sent in."""

from datetime import datetime
from typing import Final

from django.db import transaction

from accounts.models import User
from competitions.factsheets.services import fact_sheet_questions, read_fact_sheet
from competitions.submissions.models import FactSheetRevision, Submission
from competitions.submissions.signals import submission_settled
from competitions.teams.models import Membership
from core.refusals import RefusalKind

FACT_SHEET_CLOSED: Final = RefusalKind(
    409,
    "fact_sheet_closed",
    "The fact sheet of submission #{submission.pk} could be changed until "
    "{submission.phase.closes_at:%Y-%m-%d %H:%M} UTC. Ask the organizers if something in it is wrong.",
)

NOT_YOUR_FACT_SHEET: Final = RefusalKind(
    403, "not_of_your_team", "Submission #{submission.pk} is another team's. Only its own team answers for it."
)


def fact_sheet_is_open(submission: Submission, now: datetime) -> bool:
    return submission.phase.closes_at is None or now < submission.phase.closes_at


@transaction.atomic
def fact_sheet_edit(*, submission: Submission, answers: object, by: User, now: datetime) -> bool:
    """Replace the answers and keep the former ones as history; False when nothing changed. Boards follow.

    Raises `NOT_YOUR_FACT_SHEET`, `FACT_SHEET_CLOSED` after the phase's deadline, or `FactSheetInvalid`; then nothing is changed.
    """
    if not Membership.objects.filter(team=submission.team_id, user=by).exists():
        raise NOT_YOUR_FACT_SHEET(submission=submission)
    if not fact_sheet_is_open(submission, now):
        raise FACT_SHEET_CLOSED(submission=submission)
    checked = read_fact_sheet(fact_sheet_questions(submission.phase), answers)
    locked = Submission.objects.select_for_update(of=("self",)).select_related("phase", "team").get(pk=submission.pk)
    if locked.fact_sheet == checked:
        return False
    locked.fact_sheet = checked
    locked.save(update_fields=["fact_sheet"])
    FactSheetRevision.objects.create(submission=locked, answers=checked, changed_by=by, changed_at=now)
    if locked.is_final:
        submission_settled.send(sender=Submission, submission=locked)
    return True

"""Organizers hear whose submissions their scoring program or setup failed on: by mail, at most once a day for each phase."""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db.models import Count

from accounts.mail import mail_to_all
from competitions.catalog.models import Phase
from competitions.runs.models import ScoringErrorNotice
from competitions.submissions.models import Submission
from competitions.submissions.states import ORGANIZERS_OWN, State

log = structlog.get_logger(__name__)
PERIOD: Final = timedelta(days=1)
NAMED: Final = 20  # teams in one mail


def organizers_notify(*, now: datetime) -> int:
    """For the reconciler: mail the organizers of phases with scoring errors that they have not heard of; returns how many mails."""
    recent = Submission.objects.filter(reason__in=ORGANIZERS_OWN, finished_at__gt=now - PERIOD)
    phases = Phase.objects.filter(pk__in=recent.values("phase")).select_related("competition")
    return sum(_notify(phase, since) for phase in phases if (since := _turn(phase, now)) is not None)


def _turn(phase: Phase, now: datetime) -> datetime | None:
    """Since when to report, for the one process whose turn it is; None where the organizers were told within the period.

    The row is written first, so that two reconcilers, or a round that is cut short, tell nobody twice.
    """
    notice, is_first = ScoringErrorNotice.objects.get_or_create(phase=phase, defaults={"sent_at": now})
    if is_first:
        return now - PERIOD
    is_due = ScoringErrorNotice.objects.filter(pk=notice.pk, sent_at__lte=now - PERIOD).update(sent_at=now)
    return notice.sent_at if is_due else None


def _notify(phase: Phase, since: datetime) -> int:
    failed = Submission.objects.filter(phase=phase, reason__in=ORGANIZERS_OWN, finished_at__gt=since)
    teams = list(failed.values_list("team__name").annotate(count=Count("pk")).order_by("-count", "team__name"))
    sent = mail_to_all(
        people=phase.competition.organizers.filter(is_active=True).order_by("pk"),
        subject=f"Submissions to {phase.name} in {phase.competition} could not be scored",
        text=_text(phase, since, teams),
        path=f"/admin/submissions/submission/?status__exact={State.FAILED}",
    )
    log.info("scoring_errors_told", phase=phase.pk, mails=sent, teams=len(teams))
    return sent


def _text(phase: Phase, since: datetime, teams: list[tuple[str, int]]) -> str:
    listed = "\n".join(f"  {count} of {name}" for name, count in teams[:NAMED])
    more = f"\n  and {len(teams) - NAMED} further teams" if len(teams) > NAMED else ""
    return (
        f"Since {since:%Y-%m-%d %H:%M} UTC the scoring program of “{phase.name}” in “{phase.competition}”, or its setup, failed on "
        "submissions:\n\n"
        f"{listed}{more}\n\n"
        "The teams were not charged. Each submission's page says what failed. Where many teams are affected, mend the scoring program, "
        "or the setup that it names, then choose Run again. Where it is one team alone, look at what its program wrote: perhaps it "
        "does not follow the form that you ask for."
    )

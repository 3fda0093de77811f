"""Mails to organizers about submissions not scored by their or our fault, once a day and phase."""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Count, Q

from accounts.outbox import mail_person
from competitions.catalog.models import Phase
from competitions.runs.models import ScoringErrorNotice
from competitions.submissions.models import Submission
from competitions.submissions.states import ORGANIZERS_OWN, Reason, State
from core.reconciler import run_guarded

log = structlog.get_logger(__name__)
PERIOD: Final = timedelta(days=1)
NAMED: Final = 20  # teams in one mail
OF_ORGANIZERS: Final = Q(reason__in=ORGANIZERS_OWN)
OF_PLATFORM: Final = Q(reason=Reason.INFRASTRUCTURE)
Counts = list[tuple[str, int]]  # submissions by team


def organizers_notify(*, now: datetime) -> int:
    """For the reconciler: mail organizers of submissions that failed by no team's fault; returns how many."""
    recent = [
        Submission.objects.filter(failed, finished_at__gt=now - PERIOD, rescores=None).values("phase")
        for failed in (OF_ORGANIZERS, OF_PLATFORM)
    ]
    is_affected = Q(pk__in=recent[0]) | Q(pk__in=recent[1])
    phases = Phase.objects.filter(is_affected).select_related("competition")
    return sum(run_guarded("scoring_errors_told", partial(_tell, phase), now=now) for phase in phases)


@transaction.atomic
def _tell(phase: Phase, *, now: datetime) -> int:
    """Mail the organizers of a phase once a day, and note that they were told, in one transaction."""
    since = _turn(phase, now)
    return 0 if since is None else _notify(phase, since)


def _turn(phase: Phase, now: datetime) -> datetime | None:
    """The start of the period to report, or None if the organizers were told within it.

    The row is written first, so that two reconcilers tell nobody twice.
    """
    notice, is_first = ScoringErrorNotice.objects.get_or_create(phase=phase, defaults={"sent_at": now})
    if is_first:
        return now - PERIOD
    is_due = ScoringErrorNotice.objects.filter(pk=notice.pk, sent_at__lte=now - PERIOD).update(sent_at=now)
    return notice.sent_at if is_due else None


def _notify(phase: Phase, since: datetime) -> int:
    own, platforms = (_counts(phase, failed, since) for failed in (OF_ORGANIZERS, OF_PLATFORM))
    texts = [
        write(phase, since, counts) for write, counts in ((_own_text, own), (_platforms_text, platforms)) if counts
    ]
    subject = f"Submissions to {phase.name} in {phase.competition} could not be scored"
    path = f"/admin/submissions/submission/?status__exact={State.FAILED}"
    people = phase.competition.organizers.filter(is_active=True).order_by("pk")
    sent = sum(mail_person(to=person, subject=subject, text="\n\n".join(texts), path=path) for person in people)
    log.info("scoring_errors_told", phase=phase.pk, mails=sent, teams=len(own) + len(platforms))
    return sent


def _counts(phase: Phase, failed: Q, since: datetime) -> Counts:
    submissions = Submission.objects.filter(failed, phase=phase, finished_at__gt=since, rescores=None)
    return list(submissions.values_list("team__name").annotate(count=Count("pk")).order_by("-count", "team__name"))


def _listed(teams: Counts) -> str:
    listed = "\n".join(f"  {count} of {name}" for name, count in teams[:NAMED])
    return listed + (f"\n  and {len(teams) - NAMED} further teams" if len(teams) > NAMED else "")


def _own_text(phase: Phase, since: datetime, teams: Counts) -> str:
    return (
        f"Since {since:%Y-%m-%d %H:%M} UTC the scoring program of “{phase.name}” in “{phase.competition}”, or its setup, failed on "
        f"submissions:\n\n{_listed(teams)}\n\n"
        "The teams were not charged. Each submission's page says what failed. Where many teams are affected, fix the scoring program, "
        "or the setup that it names, then choose Run again. Where it is one team alone, look at what its program wrote: perhaps it "
        "does not follow the form that you ask for."
    )


def _platforms_text(phase: Phase, since: datetime, teams: Counts) -> str:
    return (
        f"Since {since:%Y-%m-%d %H:%M} UTC the platform failed on submissions to “{phase.name}” in “{phase.competition}”, every time "
        f"they were tried:\n\n{_listed(teams)}\n\n"
        "The teams were not charged, and the submissions wait for you. Where many teams are affected, tell whoever runs the compute "
        "workers, and choose Run again when that is fixed. Where it is one team alone, its files may be what compute workers fail on: "
        "such failures take no worker out of service."
    )

"""Messages about submissions: endings, organizers' decisions, ends of phases. Never a score."""

import re
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils.text import Truncator

from accounts.models import User
from competitions.catalog.changes.change import Change
from competitions.catalog.models import Phase
from competitions.notifications.models import Kind
from competitions.notifications.services import notify, was_told
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind as SubmissionKind
from competitions.submissions.states import Reason, State
from competitions.teams.models import Membership, Team
from competitions.teams.notices import registered_people, team_members
from core.reconciler import run_guarded

REASON_CHARS: Final = 200  # the submission's page has the whole sentence
FINISHED_EVENT: Final = re.compile(rf"submission-([0-9]{{1,18}})-{State.FINISHED.value}", re.ASCII)
NOTICES: Final = (timedelta(hours=24), timedelta(days=3))  # before the end of a phase, the shortest first


def submitter_notify(
    sender: type[Submission], submission: Submission, now: datetime | None = None, **kwargs: Any
) -> None:
    """Receiver of `submission_settled`: tell the submitter once how it ended, while still in the team."""
    is_the_teams = not submission.is_verification and submission.migrated_from_id is None
    has_ended = submission.status in (State.FINISHED, State.FAILED)
    if not has_ended or now is None or submission.finished_at != now or not is_the_teams:
        return
    phase = submission.phase
    what = "smoke run of submission" if submission.is_smoke else "submission"
    notify(
        people=team_members(submission.team).filter(pk=submission.submitted_by_id),
        kind=Kind.RUN,
        competition=phase.competition,
        event=f"submission-{submission.pk}-{submission.status}",
        subject=f"{what[0].upper()}{what[1:]} #{submission.pk} {_ending(submission)}",
        text=f"Your {what} #{submission.pk} ({submission.file_name}) to “{phase.name}” of “{phase.competition}” "
        f"{_ending_explained(submission)}",
        path=f"/submissions/{submission.pk}/",
    )


def _ending(submission: Submission) -> str:
    if submission.status == State.FAILED:
        return "has failed"
    has_score = not submission.is_smoke and submission.kind != SubmissionKind.DATASET
    return "has been scored" if has_score else "has finished"


def _ending_explained(submission: Submission) -> str:
    """The end of a sentence; for a failure also its reason as the submission's page says it."""
    if submission.status != State.FAILED:
        return f"{_ending(submission)}."
    # A run keeps the sentence that its team may read; one on a dataset of another team is not the submission's.
    failed = [run for run in submission.runs.all() if run.state == State.FAILED and not run.fills_board]
    detail = next((run.detail for run in sorted(failed, key=lambda run: run.is_smoke)), "")
    why = Truncator(" ".join(detail.split()) or Reason(submission.reason).label).chars(REASON_CHARS)
    stop = "" if why.endswith((".", "!", "?", "…")) else "."
    return f"failed: {why}{stop}{'' if submission.is_charged else ' It cost no quota.'}"


def finished_submission(event: str) -> int | None:
    """The number of the submission that an event says has finished; None for other events."""
    match = FINISHED_EVENT.fullmatch(event)
    return int(match[1]) if match else None


def rescoring_notify(*, submission: Submission, now: datetime) -> None:
    """Tell a team that organizers have its submissions scored again: once a day and phase."""
    if submission.is_verification:
        return
    phase, team = submission.phase, submission.team
    notify(
        people=team_members(team),
        kind=Kind.RESCORING,
        competition=phase.competition,
        event=f"rescoring-{phase.pk}-{team.pk}-{now:%Y-%m-%d}",
        subject=f"Submissions to {phase.name} are scored again",
        text=f"The organizers of “{phase.competition}” have submissions of your team “{team}” to “{phase.name}” scored again. Scores and "
        "places may change.",
        path=f"/competitions/{phase.competition.slug}/submissions/?phase={phase.slug}",
    )


def not_joined_notify(*, submission: Submission, asked_at: datetime) -> None:
    """Tell a team that the site could not put its dataset on the board, by no fault of theirs."""
    phase = submission.phase
    notify(
        people=team_members(submission.team),
        kind=Kind.RUN,
        competition=phase.competition,
        event=f"dataset-{submission.pk}-not-joined-{asked_at:%Y%m%dT%H%M%S}",
        subject=f"The dataset of submission #{submission.pk} is not on the board",
        text=f"The dataset of your team ({submission.file_name}) passed its check in “{phase.name}” of “{phase.competition}”, but could "
        "not be put on the board because of an error on our side. You need to do nothing: the organizers see it, and can try again.",
        path=f"/submissions/{submission.pk}/",
    )


def team_standing_notify(*, team: Team, reason: str, is_back: bool = False) -> None:
    """Tell a team that it was disqualified, or takes part again, with the public reason."""
    text = f"The organizers of “{team.competition}” have disqualified your team “{team}”: {reason}"
    if is_back:
        text = f"Your team “{team}” takes part in “{team.competition}” again. The organizers took the disqualification back: {reason}"
    notify(
        people=team_members(team),
        kind=Kind.DISQUALIFICATION,
        competition=team.competition,
        subject=f"The team {team} {'takes part again' if is_back else 'was disqualified'}",
        text=text,
        path=f"/competitions/{team.competition.slug}/team/",
    )


def submission_standing_notify(*, submission: Submission, reason: str, is_back: bool = False) -> None:
    """Tell a team that its submission was disqualified, or counts again, with the public reason."""
    if submission.is_verification:
        return
    competition, number = submission.phase.competition, f"#{submission.pk}"
    text = f"The organizers of “{competition}” have disqualified your team's submission {number}: {reason}"
    if is_back:
        text = f"Your team's submission {number} to “{submission.phase.name}” of “{competition}” counts again: {reason}"
    notify(
        people=team_members(submission.team),
        kind=Kind.DISQUALIFICATION,
        competition=competition,
        subject=f"Submission {number} {'counts again' if is_back else 'was disqualified'}",
        text=text,
        path=f"/submissions/{submission.pk}/",
    )


def phase_end_notify(sender: type[Phase], change: Change[Phase], now: datetime, **kwargs: Any) -> None:
    """Receiver of `definition_changed`: tell everybody who may still submit that a phase's end moved."""
    phase, before = change.row, change.before
    if before is None or "closes_at" not in change.fields or not phase.competition.is_published:
        return
    if not (_is_open(before, now) or _is_open(phase, now)):
        return  # an end of the past was corrected
    what, text = _moved_end(phase, before, now)
    notice = _notice_event(phase, now) if _is_open(phase, now) else ""  # which the news of the move stands for
    notify(
        people=_who_may_submit(phase),
        kind=Kind.DEADLINE,
        competition=phase.competition,
        event="" if was_told(notice) else notice,
        subject=f"{phase.name} of {phase.competition} {what}",
        text=f"The organizers have moved the end of “{phase.name}” of “{phase.competition}”. {text}",
        path=f"/competitions/{phase.competition.slug}/submissions/?phase={phase.slug}",
    )


def _is_open(phase: Phase, now: datetime) -> bool:
    return phase.closes_at is None or phase.closes_at > now


def _moved_end(phase: Phase, before: Phase, now: datetime) -> tuple[str, str]:
    """The end of a sentence that begins with the phase's name, and what it means."""
    former = f"The end was {_utc(before.closes_at)}." if before.closes_at else "So far it had no end."
    if not _is_open(phase, now):
        return "has closed", f"It is closed and takes no more submissions. {former}"
    if not _is_open(before, now):
        return "is open again", f"It takes submissions again, until {_utc(phase.closes_at)}. {former}"
    is_later = phase.closes_at is None or (before.closes_at is not None and phase.closes_at > before.closes_at)
    what = "was extended" if is_later else "ends earlier"
    return what, f"It takes submissions until {_utc(phase.closes_at)}. {former}"


def _utc(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else "further notice"


def deadlines_notify(*, now: datetime) -> int:
    """For the reconciler: three days and 24 hours before a phase ends, tell all who may still submit.

    Returns how many were told.
    """
    soon = Phase.objects.filter(closes_at__gt=now, closes_at__lte=now + max(NOTICES), competition__is_published=True)
    phases = soon.select_related("competition")
    return sum(run_guarded("deadlines_notified", partial(_deadline_notify, phase), now=now) for phase in phases)


def _deadline_notify(phase: Phase, *, now: datetime) -> int:
    """An end that was moved is told again. A phase that is no longer than the notice needs none."""
    closes_at, event = phase.closes_at, _notice_event(phase, now)
    assert closes_at is not None, "the query asks for an end"
    if not event or was_told(event):
        return 0
    return notify(
        people=_who_may_submit(phase),
        kind=Kind.DEADLINE,
        competition=phase.competition,
        event=event,
        subject=f"{phase.name} of {phase.competition} ends on {closes_at:%Y-%m-%d} at {closes_at:%H:%M} UTC",
        text=f"“{phase.name}” of “{phase.competition}” takes submissions until {closes_at:%Y-%m-%d %H:%M} UTC.",
        path=f"/competitions/{phase.competition.slug}/submissions/?phase={phase.slug}",
    )


def _notice_event(phase: Phase, now: datetime) -> str:
    """The notice of the phase's end that is due now; empty where there is none."""
    left = phase.closes_at - now if phase.closes_at else max(NOTICES) * 2
    notice = next((notice for notice in NOTICES if left <= notice), None)
    if phase.closes_at is None or notice is None or phase.opens_at > phase.closes_at - notice:
        return ""
    return f"deadline-{phase.pk}-{phase.closes_at:%Y%m%dT%H%M%S}-{notice // timedelta(hours=1)}"


def _who_may_submit(phase: Phase) -> QuerySet[User]:
    """The people of the teams that are in the contest and have submissions left."""
    teams = Team.objects.filter(
        competition=phase.competition, merged_into=None, disqualified_at=None, is_baseline=False
    )
    if phase.max_submissions is not None:
        charged = Submission.objects.filter(team=OuterRef("pk"), phase=phase, is_charged=True).order_by()
        used = Subquery(charged.values("team").annotate(number=Count("pk")).values("number"))
        teams = teams.annotate(used=used).filter(Q(used=None) | Q(used__lt=phase.max_submissions))
    members = Membership.objects.filter(team__in=teams.order_by().values("pk")).values("user")
    return registered_people(phase.competition).filter(pk__in=members)

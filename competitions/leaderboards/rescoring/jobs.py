"""Background work on proposals: queue what is missing, compare, apply, and take over what ends later."""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from competitions.catalog.models import Competition, Proposal
from competitions.leaderboards.models import ProposedStanding
from competitions.leaderboards.rescoring import adopting, services
from competitions.leaderboards.snapshots import snapshot_before
from competitions.leaderboards.uncertainty.reading import ReplicateFiles
from competitions.notifications.models import Kind
from competitions.notifications.services import notify
from competitions.runs.rescoring import is_superseded, missing_submissions, submission_rescore
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL
from competitions.teams.notices import registered_people
from core.background import jobs
from core.background.bounded import Stopped
from core.background.rows import Claim, claims
from core.reconciler import run_guarded
from core.refusals import Refusal

log = structlog.get_logger(__name__)
State = Proposal.State
OURS: Final = f"It could not be done {jobs.ON_OUR_SIDE}"
KEPT: Final = "Datasets that joined a leaderboard before keep their scores. "
COMPARED_EVERY: Final = timedelta(minutes=1)  # while submissions keep coming
SETTLED_AFTER: Final = timedelta(hours=1)  # an applied one: what ran at that moment has ended, or is tried again


def waiting_proposals() -> QuerySet[Proposal]:
    """Proposals with work that somebody must do."""
    return Proposal.objects.filter(needs_work=True)


@claims(waiting_proposals, "competition__queue", "queue", "board", "ended_by", "created_by")
def proposal_perform(proposal: Proposal, claimed: Claim) -> None:
    """Do the next work on one proposal; nothing if nobody asks for it any more."""
    if proposal.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(needs_work=False, fault=OURS, **_back(proposal))
        return
    try:
        with claimed.kept():
            _work(proposal, claimed)
    except Stopped:
        log.info("proposal_stopped", proposal=proposal.pk)
    except Refusal as refusal:
        claimed.release(needs_work=False, fault=refusal.detail, **_back(proposal))


PROPOSAL: Final = jobs.Job(
    services.PROPOSAL_JOB,
    waiting=waiting_proposals,
    perform=proposal_perform,
    asked_at="asked_at",
    queue=jobs.Queue.LONG,
)


def _back(proposal: Proposal) -> dict[str, str]:
    """Fields of a proposal that could not be applied: it can be looked at again, or dropped."""
    return {"state": State.SCORING} if proposal.state == State.APPLYING else {}


def _work(proposal: Proposal, claimed: Claim) -> None:
    if proposal.state == State.DROPPED or is_superseded(proposal):
        services.copies_cancel(proposal, now=timezone.now())
        claimed.release(needs_work=False, attempts=0, is_settled=True)
        return
    if proposal.tries_again:
        services.copies_rerun(proposal, now=timezone.now())
    for pk in list(missing_submissions(proposal).values_list("pk", flat=True)):
        if not claimed.renew():
            raise Stopped
        submission = Submission.objects.select_related("phase", "weights", "image").get(pk=pk)
        submission_rescore(proposal=proposal, submission=submission, now=timezone.now())
    if proposal.state == State.APPLYING:
        files = ReplicateFiles(claimed.renew)
        adopting.proposal_rehearse(proposal, files=files, now=timezone.now())
        _apply(proposal, claimed, files)
        return
    if proposal.state == State.APPLIED:
        adopting.take_late_scores(proposal, now=timezone.now())
    elif proposal.state == State.SCORING and services.is_complete(proposal):
        _compare(proposal, claimed)
        return
    claimed.release(needs_work=False, attempts=0)


def _compare(proposal: Proposal, claimed: Claim) -> None:
    count = proposal.rescorings.filter(copy__status__in=FINAL).count()
    standings = adopting.proposal_rehearse(proposal, files=ReplicateFiles(claimed.renew), now=timezone.now())
    with transaction.atomic():
        claimed.conclude(needs_work=False, attempts=0, fault="", compared_count=count, compared_at=timezone.now())
        ProposedStanding.objects.filter(proposal=proposal).delete()
        ProposedStanding.objects.bulk_create(standings)


@transaction.atomic
def _apply(proposal: Proposal, claimed: Claim, files: ReplicateFiles) -> None:
    """Put the proposal in force and publish it. What still runs is taken over when it ends."""
    now, by = timezone.now(), proposal.ended_by or proposal.created_by
    # Runs, submissions and the competition come before the boards, which are locked to be frozen.
    rescorings = adopting.untaken_lock(proposal)
    Competition.objects.filter(pk=proposal.competition_id).update(applied_proposals=F("applied_proposals") + 1)
    adopting.affected_boards_locked(proposal)
    frozen = {board.pk: snapshot_before(board=board, by=by, now=now) for board in adopting.affected_boards(proposal)}
    standings = adopting.proposal_adopt(proposal, rescorings, now=now, files=files)
    for standing in standings:
        standing.snapshot = frozen.get(standing.leaderboard_id)
    ProposedStanding.objects.filter(proposal=proposal).delete()
    ProposedStanding.objects.bulk_create(standings)
    _tell(proposal)
    claimed.conclude(state=State.APPLIED, ended_at=now, needs_work=False, attempts=0, fault="")


def _tell(proposal: Proposal) -> None:
    competition = proposal.competition
    more = KEPT if services.count_kept_datasets(proposal) else ""
    notify(
        people=registered_people(competition),
        kind=Kind.RESCORING,
        competition=competition,
        event=f"proposal-{proposal.pk}",
        subject=f"Submissions to {competition} were rescored: {proposal.title}",
        text=f"The organizers of “{competition}” have changed the scoring, and all submissions were rescored. Scores and places may "
        f"have changed. {more}Their reason: {proposal.reason}",
        path=f"/competitions/{competition.slug}/changes/{proposal.number}/",
    )


def proposals_carry_on(*, now: datetime) -> int:
    """For the reconciler: go on with proposals where submissions came or ended; returns how many."""
    unsettled = Proposal.objects.filter(is_settled=False, needs_work=False).exclude(
        state__in=[State.DRAFT, State.DROPPED]
    )
    return sum(
        run_guarded("proposals_carried_on", partial(_carry_on, proposal), now=now)
        for proposal in unsettled.select_related("board")
    )


def _carry_on(proposal: Proposal, *, now: datetime) -> bool:
    if proposal.state == State.APPLIED and _is_over(proposal, now):
        Proposal.objects.filter(pk=proposal.pk, state=State.APPLIED).update(is_settled=True)
        return False
    if not (is_superseded(proposal) or missing_submissions(proposal).exists() or _has_news(proposal, now)):
        return False
    services.ask_work(proposal, now=now)
    return True


def _has_news(proposal: Proposal, now: datetime) -> bool:
    """Copies that ended since the last comparison, or since the proposal was applied."""
    ended = proposal.rescorings.filter(copy__status__in=FINAL)
    if proposal.state == State.APPLIED:
        return ended.filter(taken_at=None).exclude(pk__in=services.untried(proposal)).exists()
    is_due = proposal.compared_at is None or now >= proposal.compared_at + COMPARED_EVERY
    return is_due and ended.count() != proposal.compared_count and not proposal.fault and services.is_complete(proposal)


def _is_over(proposal: Proposal, now: datetime) -> bool:
    is_late = proposal.ended_at is not None and now >= proposal.ended_at + SETTLED_AFTER
    running = proposal.rescorings.filter(taken_at=None).exclude(pk__in=services.untried(proposal))
    return is_late and not running.exists() and not missing_submissions(proposal).exists()

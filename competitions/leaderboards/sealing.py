"""Sealed boards: the commitment at the close, the reveal with its preview, the mails about it."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog
from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.sealed_keys import phases_under_seal
from competitions.catalog.services import phase_reveal
from competitions.disclosure.scores import boards_to_announce
from competitions.leaderboards.commitment import board_document, changed_since
from competitions.leaderboards.models import Commitment, RankChange, Score
from competitions.leaderboards.ranking.entries import team_ranks
from competitions.leaderboards.ranking.rules import compared_board
from competitions.leaderboards.services import board_freeze, rows_rebuild
from competitions.leaderboards.uncertainty.asking import ask_uncertainty
from competitions.notifications.models import Kind
from competitions.notifications.services import notify
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE
from core.reconciler import run_guarded
from core.refusals import Conflict, Refusal, RefusalKind
from files.manifest import commitment_leaves, leaves_digest
from files.text import quantity

log = structlog.get_logger(__name__)

NOT_CLOSED_YET: Final = RefusalKind(
    409,
    "phase_not_closed",
    "“{phase.name}” has not closed, or uploads that began before its end may still arrive, so the result is not final. "
    "Commit to it {phase.upload_grace_minutes} minutes after its end.",
)


class StillScoring(Conflict):
    code = "still_scoring"

    def __init__(self, phase: Phase, count: int) -> None:
        super().__init__(
            f"{quantity(count, 'submission')} to “{phase.name}” {'is' if count == 1 else 'are'} not scored yet. "
            "Wait until they are, or cancel them."
        )


ALREADY_COMMITTED: Final = RefusalKind(
    409,
    "already_committed",
    "“{board.title}” has its commitment. Publish what changed since as an amendment with a reason.",
)


def unscored(phase: Phase) -> int:
    """Submissions in time that still run and may stand on a board."""
    waits = Submission.objects.filter(phase=phase, status__in=LIVE, is_late=False, is_verification=False)
    return waits.filter(is_task_rerun=False, is_smoke=False).count()


@transaction.atomic
def board_commit(*, board: Leaderboard, now: datetime) -> Commitment:
    """Commit to the board as it stands; later changes are amendments, never another commitment.

    A freeze ends here: the commitment covers what the reveal will show. Raises `NOT_CLOSED_YET`, `StillScoring` or
    `ALREADY_COMMITTED`; then nothing is committed.
    """
    locked = (
        Leaderboard.objects.select_for_update(of=("self",), no_key=True)
        .select_related("phase__competition")
        .get(pk=board.pk)
    )
    phase = locked.phase
    if not phase.is_settled(now):
        raise NOT_CLOSED_YET(phase=phase)
    if count := unscored(phase):
        raise StillScoring(phase, count)
    if Commitment.objects.filter(leaderboard=locked).exists():
        raise ALREADY_COMMITTED(board=locked)
    if locked.freeze_at is not None:
        board_freeze(board=locked, at=None)
    salt, document = secrets.token_hex(32), board_document(locked)
    leaves = commitment_leaves(document, salt)
    commitment = Commitment.objects.create(
        leaderboard=locked,
        salt=salt,
        leaves=leaves,
        document=document,
        digest=leaves_digest(leaves),
        entry_count=len(document["entries"]),
        made_at=now,
    )
    log.info(
        "board_committed", board=locked.pk, phase=phase.slug, digest=commitment.digest, entries=commitment.entry_count
    )
    return commitment


def board_commitment(board: Leaderboard) -> Commitment | None:
    """The board's commitment without what only a manifest needs."""
    commitments = Commitment.objects.filter(leaderboard=board).select_related("leaderboard__phase__competition")
    return commitments.defer("salt", "leaves", "document").first()


def sealed_boards(phase: Phase) -> list[Leaderboard]:
    """The boards that the reveal of this phase opens."""
    boards = Leaderboard.objects.filter(phase=phase).select_related("phase__competition")
    return [board for board in boards if board.is_sealed]


def committed_boards(phase: Phase) -> list[Leaderboard]:
    """The boards whose rows cannot change without an amendment."""
    boards = Leaderboard.objects.filter(phase=phase, commitment__isnull=False)
    return list(boards.select_related("phase__competition"))


def commit_closed_boards(*, now: datetime) -> int:
    """For the reconciler: commit to every sealed board of closed and scored phases; returns how many.

    A board that fails holds up no other.
    """
    closed = Phase.objects.filter(closes_at__lte=now, leaderboards__commitment=None)
    waiting = phases_under_seal().filter(pk__in=closed.values("pk"))
    done = 0
    for phase in waiting:
        if unscored(phase) or not phase.is_settled(now):
            continue
        for board in sealed_boards(phase):
            done += run_guarded("boards_committed", partial(_commit_once, board), now=now)
    return done


@transaction.atomic
def _commit_once(board: Leaderboard, *, now: datetime) -> bool:
    """Two reconcilers at once make one commitment: the second finds it under the board's lock."""
    Leaderboard.objects.select_for_update(no_key=True).get(pk=board.pk)
    if Commitment.objects.filter(leaderboard=board).exists():
        return False
    board_commit(board=board, now=now)
    return True


@dataclass(frozen=True)
class BoardPreview:
    """A board that the reveal would open, with the changes since the commitment to it."""

    board: Leaderboard
    commitment: Commitment | None
    changes: list[str]
    baselines: int  # among its rows


@dataclass(frozen=True)
class RevealPreview:
    boards: list[BoardPreview]
    unscored: int
    is_before_the_end: bool


def reveal_preview(phase: Phase, *, now: datetime) -> RevealPreview:
    """Preview a reveal; after it, show how it was checked. Tells no score."""
    previews = []
    for board in sealed_boards(phase) or committed_boards(phase):
        commitment = board_commitment(board)
        changes = changed_since(commitment) if commitment else []
        previews.append(BoardPreview(board, commitment, changes, board.entries.filter(is_baseline=True).count()))
    return RevealPreview(previews, unscored(phase), not phase.is_settled(now))


def reveal_planned(*, now: datetime) -> int:
    """For the reconciler: reveal what is due, once no further upload can count and all is scored.

    A phase that fails holds up no other.
    """
    due = Phase.objects.filter(reveal_at__lte=now, revealed_at=None, closes_at__lte=now)
    settled = [phase for phase in due if phase.is_settled(now)]
    return sum(run_guarded("phases_revealed", partial(_reveal_due, phase), now=now) for phase in settled)


@transaction.atomic
def _reveal_due(phase: Phase, *, now: datetime) -> bool:
    locked = Phase.objects.select_for_update(no_key=True).get(pk=phase.pk)
    if locked.revealed_at is not None or not locked.holds_sealed_scores or unscored(locked):
        return False
    try:
        phase_reveal(phase=locked, now=now)
    except Refusal as refusal:  # somebody was faster
        log.info("reveal_refused", phase=locked.pk, code=refusal.code)
        return False
    log.info("revealed", phase=locked.slug)
    return True


@transaction.atomic
def boards_follow_reveal(sender: type[Phase], phase: Phase, **kwargs: Any) -> None:
    """Receiver of `phase_revealed`: commit where missing, update frozen boards, show each shake-up."""
    boards = (
        Leaderboard.objects.select_for_update(of=("self",), no_key=True)
        .filter(phase=phase)
        .select_related("phase")
        .order_by("pk")
    )
    _commit_what_is_not(phase, list(boards))
    for board in boards:
        board.phase = phase
        if board.freeze_at is not None:
            rows_rebuild(board)
    for board in boards:
        board.phase = phase
        _shake_up(board)
        ask_uncertainty(board)  # what noise explains of it


def _commit_what_is_not(phase: Phase, boards: list[Leaderboard]) -> None:
    """A reveal by hand may come before the reconciler does: what it shows can be checked all the same.

    Before the end, or while something is not scored, there is nothing to commit to.
    """
    revealed_at = phase.revealed_at
    if revealed_at is None or not phase.is_settled(revealed_at) or unscored(phase):
        return
    for board in boards:
        if board.was_sealed and board_commitment(board) is None:
            board_commit(board=board, now=revealed_at)


def _shake_up(board: Leaderboard) -> None:
    """Keep both ranks of each team, once, so that the page reads them by index."""
    compared = compared_board(board)
    if compared is None:
        return
    before, after = team_ranks(compared), team_ranks(board)
    RankChange.objects.filter(leaderboard=board).delete()
    RankChange.objects.bulk_create(
        (
            RankChange(
                leaderboard=board, compared_with=compared, team_id=team, rank_before=before.get(team), rank_after=rank
            )
            for team, rank in after.items()
        ),
        batch_size=2000,
    )


TOO_LATE_AFTER: Final = timedelta(days=2)  # a reveal of long ago, before an upgrade for instance, is told to nobody


def reveals_notify(*, now: datetime) -> int:
    """For the reconciler: tell the members of the teams with scores that were revealed; returns how many."""
    unannounced = Phase.objects.filter(reveal_told_at=None, revealed_at__gt=now - TOO_LATE_AFTER).select_related(
        "competition"
    )
    return sum(run_guarded("reveals_told", partial(_notify, phase), now=now) for phase in unannounced)


@transaction.atomic
def _notify(phase: Phase, *, now: datetime) -> int:
    """The phase is marked first, so that of two reconcilers one tells."""
    if not Phase.objects.filter(pk=phase.pk, reveal_told_at=None).update(reveal_told_at=now):
        return 0
    boards = boards_to_announce(phase)
    teams = Score.objects.filter(leaderboard__in=boards, is_eligible=True, team__is_baseline=False).values("team")
    number = notify(
        people=User.objects.filter(memberships__team__in=teams),
        kind=Kind.REVEAL,
        competition=phase.competition,
        subject=f"The scores of {phase.name} in {phase.competition} are public",
        text=f"The organizers of “{phase.competition}” have revealed the scores of “{phase.name}”. Your team's score and rank stand "
        "on the leaderboard.",
        path=f"/competitions/{phase.competition.slug}/leaderboard/?phase={phase.slug}",
    )
    log.info("reveal_told", phase=phase.pk, people=number)
    return number

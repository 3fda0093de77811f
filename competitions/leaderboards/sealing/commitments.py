"""Committing to a sealed board at the close."""

import secrets
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction

from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.sealed_keys import phases_under_seal
from competitions.leaderboards.commitment.documents import board_document
from competitions.leaderboards.models import Commitment
from competitions.leaderboards.services import board_freeze
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE
from core.refusals import Conflict, RefusalKind
from files.manifest import commitment_leaves, leaves_digest

log = structlog.get_logger(__name__)

NOT_CLOSED_YET: Final = RefusalKind(
    409,
    "phase_not_closed",
    "“{phase.name}” has not closed, or uploads that began before its end may still arrive, so what counts is not settled. "
    "Commit to it {phase.upload_grace_minutes} minutes after its end.",
)


class StillScoring(Conflict):
    code = "still_scoring"

    def __init__(self, phase: Phase, count: int) -> None:
        super().__init__(
            f"{count} submission{'' if count == 1 else 's'} to “{phase.name}” {'is' if count == 1 else 'are'} not scored yet. "
            "Wait until they are, or cancel them."
        )


ALREADY_COMMITTED: Final = RefusalKind(
    409,
    "already_committed",
    "“{board.title}” has its commitment. Publish what changed since as an amendment with a reason.",
)


def unscored(phase: Phase) -> int:
    """Submissions in time that still run."""
    return Submission.objects.filter(phase=phase, status__in=LIVE, is_late=False, is_verification=False).count()


@transaction.atomic
def board_commit(*, board: Leaderboard, now: datetime) -> Commitment:
    """Commit to the board as it stands; later changes are amendments, never another commitment.

    A freeze ends here: the commitment covers what the reveal will show. Raises `NOT_CLOSED_YET`, `StillScoring` or
    `ALREADY_COMMITTED`; then nothing is committed.
    """
    locked = Leaderboard.objects.select_for_update(of=("self",)).select_related("phase__competition").get(pk=board.pk)
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
    """For the reconciler: commit to every sealed board of closed and scored phases; returns how many."""
    closed = Phase.objects.filter(closes_at__lte=now, leaderboards__commitment=None)
    waiting = phases_under_seal().filter(pk__in=closed.values("pk"))
    done = 0
    for phase in waiting:
        if unscored(phase) or not phase.is_settled(now):
            continue
        for board in sealed_boards(phase):
            done += _commit_once(board, now)
    return done


@transaction.atomic
def _commit_once(board: Leaderboard, now: datetime) -> bool:
    """Two reconcilers at once make one commitment: the second finds it under the board's lock."""
    Leaderboard.objects.select_for_update().get(pk=board.pk)
    if Commitment.objects.filter(leaderboard=board).exists():
        return False
    board_commit(board=board, now=now)
    return True

"""The reveal of a phase: planned or by hand, with a preview; the shake-up; the mails about it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import F, Window
from django.db.models.functions import Rank

from accounts.models import User
from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.services import phase_reveal
from competitions.disclosure.scores import boards_to_announce
from competitions.leaderboards.commitment.amendments import changed_since
from competitions.leaderboards.models import Commitment, Entry, RankChange, Score
from competitions.leaderboards.ranking.rules import compared_board
from competitions.leaderboards.sealing.commitments import (
    board_commit,
    board_commitment,
    committed_boards,
    sealed_boards,
    unscored,
)
from competitions.leaderboards.services import rows_rebuild
from competitions.leaderboards.uncertainty.asking import ask_uncertainty
from competitions.notifications.models import Kind
from competitions.notifications.services import notify
from core.refusals import Refusal

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class BoardPreview:
    """A board that the reveal would open, with the changes since the commitment to it."""

    board: Leaderboard
    commitment: Commitment | None
    changes: list[str]


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
        previews.append(BoardPreview(board, commitment, changed_since(commitment) if commitment else []))
    return RevealPreview(previews, unscored(phase), not phase.is_settled(now))


def reveal_planned(*, now: datetime) -> int:
    """For the reconciler: reveal what is due, once no further upload can count and all is scored."""
    due = Phase.objects.filter(reveal_at__lte=now, revealed_at=None, closes_at__lte=now)
    return sum(_reveal_due(phase, now) for phase in due if phase.is_settled(now))


@transaction.atomic
def _reveal_due(phase: Phase, now: datetime) -> bool:
    locked = Phase.objects.select_for_update().get(pk=phase.pk)
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
        Leaderboard.objects.select_for_update(of=("self",)).filter(phase=phase).select_related("phase").order_by("pk")
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


def team_ranks(board: Leaderboard) -> dict[int, int]:
    """Each team's best rank."""
    ranked = Entry.objects.filter(leaderboard=board, is_baseline=False).annotate(
        rank=Window(Rank(), order_by=[F("rank_value").asc(), F("tie_key").asc()])
    )
    ranks: dict[int, int] = {}
    for team, rank in ranked.order_by("rank_value", "tie_key").values_list("team", "rank"):
        ranks.setdefault(team, rank)
    return ranks


TOO_LATE_AFTER: Final = timedelta(days=2)  # a reveal of long ago, before an upgrade for instance, is told to nobody


def reveals_notify(*, now: datetime) -> int:
    """For the reconciler: tell the members of the teams with scores that were revealed; returns how many."""
    unannounced = Phase.objects.filter(reveal_told_at=None, revealed_at__gt=now - TOO_LATE_AFTER).select_related(
        "competition"
    )
    return sum(_notify(phase, now) for phase in unannounced)


@transaction.atomic
def _notify(phase: Phase, now: datetime) -> int:
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

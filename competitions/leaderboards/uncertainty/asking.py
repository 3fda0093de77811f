"""Requests to recompute a board's uncertainty in the background."""

from typing import Final

from django.db.models import Case, F, QuerySet, When
from django.utils import timezone

from competitions.catalog.models import Leaderboard
from competitions.disclosure.outputs import SECRET
from competitions.leaderboards.models import BoardUncertainty
from competitions.runs.models import RunOutput
from competitions.submissions.models import Submission
from core.background import jobs

UNCERTAINTY_JOB: Final = "board-uncertainty"
SENT_AT_ONCE: Final = 1000  # rows; a larger board waits for the reconciler, which gathers what comes meanwhile


def waiting_boards() -> QuerySet[BoardUncertainty]:
    """Boards that have changed since they were last looked at."""
    return BoardUncertainty.objects.filter(wanted__gt=F("done"))


def begin_uncertainty(board: Leaderboard, submission: Submission) -> None:
    """Follow a board from the first result on that brings replicates. Its lock must be held."""
    has_replicates = RunOutput.objects.filter(run__submission=submission, name__in=SECRET).exists()
    if board.shows_uncertainty and has_replicates and not BoardUncertainty.objects.filter(leaderboard=board).exists():
        BoardUncertainty.objects.create(leaderboard=board, created_at=timezone.now())
        jobs.send_after_commit(UNCERTAINTY_JOB, board.pk)


def ask_uncertainty(board: Leaderboard) -> None:
    """Request new intervals after the board changed, if any of its results has replicates."""
    first_asked = Case(When(wanted=F("done"), then=timezone.now()), default=F("created_at"))
    rows = BoardUncertainty.objects.filter(leaderboard=board)
    if rows.update(wanted=F("wanted") + 1, created_at=first_asked) and board.entry_count <= SENT_AT_ONCE:
        jobs.send_after_commit(UNCERTAINTY_JOB, board.pk)

"""Rows that were taken off a board: by their own team, or with the submission's disqualification."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from competitions.catalog.models import Leaderboard
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.models import Entry, RemovedRow
from competitions.teams.models import Team

SHOWN: Final = 50  # the newest ones


@contextmanager
def noting_removed(boards: Sequence[Leaderboard], team: Team, *, now: datetime, reason: str = "") -> Iterator[None]:
    """Keep a line for each row of the team that a change takes off, and none for what stands again.

    The boards' locks must be held. A sealed board showed nobody a row, so nothing is said of it.
    """
    open_boards = [board for board in boards if scores_are_public(board)]
    before = [_standing(board, team) for board in open_boards]
    yield
    for board, earlier in zip(open_boards, before, strict=True):
        standing = _standing(board, team)
        RemovedRow.objects.filter(leaderboard=board, submission__in=standing).delete()
        RemovedRow.objects.bulk_create(
            [
                RemovedRow(leaderboard=board, team=team, submission_id=pk, removed_at=now, reason=reason)
                for pk in sorted(earlier - standing)
            ],
            ignore_conflicts=True,
        )
        Leaderboard.objects.filter(pk=board.pk).update(removed_count=board.removed_rows.count())


def _standing(board: Leaderboard, team: Team) -> set[int]:
    """The team's submissions that have a row."""
    return set(Entry.objects.filter(leaderboard=board, team=team).values_list("score__submission", flat=True))


def removed_rows(board: Leaderboard) -> list[RemovedRow]:
    """The rows that were taken off a board, the newest first; no query where there are none."""
    return list(board.removed_rows.select_related("team")[:SHOWN]) if board.removed_count else []

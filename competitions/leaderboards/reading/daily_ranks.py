"""Each team's rank at the start of the day, so that a board shows who rose and fell since."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import F, Q

from competitions.catalog.models import Leaderboard
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.models import DailyRank
from competitions.leaderboards.ranking.entries import team_ranks
from core.clock import day_began_at
from core.reconciler import run_guarded

BATCH = 5000
SEVERAL_ROWS = (Leaderboard.Rule.ALL, Leaderboard.Rule.ADD_AND_DELETE_MULTIPLE)  # a team has no one rank there


def daily_ranks_note(*, now: datetime) -> int:
    """For the reconciler: note the ranks of changed public boards, once a day (UTC)."""
    midnight = day_began_at(now)
    changed = Q(ranks_noted_at=None) | Q(ranks_noted_at__lt=midnight, updated_at__gt=F("ranks_noted_at"))
    boards = (
        Leaderboard.objects.filter(changed, entry_count__gt=0).exclude(rule__in=SEVERAL_ROWS).select_related("phase")
    )
    public = [board for board in boards if scores_are_public(board)]
    return sum(run_guarded("daily_ranks_noted", partial(_note, board), now=now) for board in public)


def _note(board: Leaderboard, *, now: datetime) -> bool:
    """False where another process has noted them meanwhile."""
    ranks = team_ranks(board)
    with transaction.atomic():
        unnoted = Leaderboard.objects.filter(pk=board.pk, ranks_noted_at=board.ranks_noted_at)
        if not unnoted.update(ranks_noted_at=now, version=F("version") + 1):
            return False
        DailyRank.objects.filter(leaderboard=board).delete()
        rows = (DailyRank(leaderboard=board, team_id=team, rank=rank) for team, rank in ranks.items())
        DailyRank.objects.bulk_create(rows, batch_size=BATCH)
    return True


def earlier_ranks(board: Leaderboard, team_ids: Sequence[int]) -> dict[int, int]:
    """The noted ranks of these teams; a team that was not on the board then has none."""
    if board.ranks_noted_at is None:
        return {}
    noted = DailyRank.objects.filter(leaderboard=board, team__in=team_ids)
    return dict(noted.values_list("team_id", "rank"))

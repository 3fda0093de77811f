"""The boards of a competition that is over: nothing comes to them any more, and everybody sees them."""

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from competitions.catalog.models import Leaderboard, Phase
from competitions.disclosure.readers import reader_for
from competitions.disclosure.scores import may_know_board, may_see_board
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE


def final_boards(phases: Sequence[Phase], now: datetime) -> list[Leaderboard]:
    """The boards with rows of a competition that is over, in their order.

    None as long as anything is open, sealed or unscored. `phases`: all of one competition, with their boards, as
    `load_boards` reads them. One query, once all are closed.
    """
    if not phases or not all(phase.is_settled(now) for phase in phases):
        return []
    visitor = reader_for(AnonymousUser(), now)
    known = [board for phase in phases for board in phase.leaderboards.all() if may_know_board(visitor, board)]
    if not all(may_see_board(visitor, board) for board in known):
        return []
    if Submission.objects.filter(phase__in=phases, status__in=LIVE).exists():
        return []
    return [board for board in known if board.entry_count]

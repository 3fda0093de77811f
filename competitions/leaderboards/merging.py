"""Boards of two teams that merge."""

from typing import Any

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Entry, Pick, Score
from competitions.leaderboards.ranking.rules import ONE_REPLACES, Rule
from competitions.leaderboards.services import entries_refresh
from competitions.teams.models import Team


def boards_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`: give the absorbed team's scores and choices to the other.

    The absorbed team's rows are removed.
    """
    boards = Leaderboard.objects.filter(phase__competition=team.competition_id)
    locked = list(boards.select_for_update(of=("self",)).select_related("phase").order_by("pk"))
    for board in locked:
        Score.objects.filter(leaderboard=board, team=absorbed).update(team=team)
        Entry.objects.filter(leaderboard=board, team=absorbed).delete()
        _join_picks(board, team, absorbed)
    for board in locked:  # after all of them: what counts on one may follow from another
        entries_refresh(board, team)


def _join_picks(board: Leaderboard, team: Team, absorbed: Team) -> None:
    """Add the absorbed team's choices to the other's, earliest first, as far as they fit."""
    limit = {**dict.fromkeys(ONE_REPLACES, 1), Rule.SELECTED: board.max_selected}.get(Rule(board.rule))
    absorbed_picks = Pick.objects.filter(leaderboard=board, team=absorbed)
    if limit is not None:
        room = max(limit - Pick.objects.filter(leaderboard=board, team=team).count(), 0)
        fitting_picks = list(absorbed_picks.order_by("picked_at", "pk").values_list("pk", flat=True)[:room])
        absorbed_picks.exclude(pk__in=fitting_picks).delete()
    absorbed_picks.update(team=team)

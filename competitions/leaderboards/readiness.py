"""What cannot work about a competition's boards."""

from collections.abc import Iterator

from competitions.catalog.models import Competition
from competitions.catalog.readiness import ReadinessWarning, readiness_check
from competitions.leaderboards.models import Leaderboard


@readiness_check
def boards_have_columns(competition: Competition) -> Iterator[ReadinessWarning]:
    boards = {
        board.phase_id: board
        for board in Leaderboard.objects.filter(phase__competition=competition).prefetch_related("columns")
    }
    for phase in competition.phases.all():
        board = boards.get(phase.pk)
        if board is None:
            yield ReadinessWarning(
                "no_board", phase.name, "The phase has no leaderboard, so scores are shown nowhere. Add one."
            )
        elif not board.columns.all():
            yield ReadinessWarning(
                "no_column", phase.name, "The leaderboard has no column, so nothing can be ranked. Add one."
            )

"""Warnings about boards of a competition that cannot work."""

from collections.abc import Iterator

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.catalog.readiness import ReadinessWarning, readiness_check
from competitions.leaderboards.ranking.values import deciding_column


@readiness_check
def boards_have_columns(competition: Competition) -> Iterator[ReadinessWarning]:
    for phase in competition.phases.prefetch_related("leaderboards__columns"):
        boards = list(phase.leaderboards.all())
        if not boards:
            yield ReadinessWarning(
                "no_board", phase.name, "The phase has no leaderboard, so scores are shown nowhere. Add one."
            )
        for board in boards:
            yield from _column_warnings(phase, board)


def _column_warnings(phase: Phase, board: Leaderboard) -> Iterator[ReadinessWarning]:
    columns = list(board.columns.all())
    keys = {column.key for column in columns}
    if not columns:
        yield ReadinessWarning(
            "no_column", phase.name, "The leaderboard has no column, so nothing can be ranked. Add one."
        )
    elif deciding_column(columns) is None:
        yield ReadinessWarning(
            "no_deciding_column",
            f"{phase.name}, {board.title}",
            "The board is ranked by an average rank over columns that it does not have. Name columns of this board.",
        )
    for column in columns:
        if missing := [key for key in column.sources if key not in keys]:
            yield ReadinessWarning(
                "no_source",
                f"{phase.name}, {column.title}",
                f"The column is computed from {', '.join(missing)}, which the board does not have.",
            )

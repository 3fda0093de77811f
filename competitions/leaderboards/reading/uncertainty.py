"""How sure rows and boards are, as those who see the board may read it."""

from competitions.catalog.models import Leaderboard
from competitions.disclosure import uncertainty as disclosed
from competitions.leaderboards.models import BoardUncertainty, Entry
from competitions.leaderboards.ranking.values import primary_column


def row_uncertainty(board: Leaderboard, entry: Entry) -> disclosed.RowUncertainty | None:
    """How sure a row is; None where that is not said or not known."""
    column, found = primary_column(list(board.columns.all())), getattr(entry, "uncertainty", None)
    return None if column is None or found is None else disclosed.row_uncertainty(board, column, found)


def board_uncertainty(board: Leaderboard) -> disclosed.BoardUncertainty | None:
    """How sure a board is; None where that is not said or not known. One query."""
    column = primary_column(list(board.columns.all()))
    if column is None or not disclosed.says_uncertainty(board, column):
        return None
    found = BoardUncertainty.objects.filter(leaderboard=board).first()
    return None if found is None else disclosed.board_uncertainty(board, column, found)

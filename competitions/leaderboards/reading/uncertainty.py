"""How sure rows and boards are, as those who see the board may read it."""

from collections.abc import Iterable

from competitions.catalog.models import Leaderboard
from competitions.disclosure import uncertainty as disclosed
from competitions.disclosure.readers import Reader
from competitions.leaderboards.models import BoardUncertainty, Entry
from competitions.leaderboards.ranking.values import primary_column


def row_uncertainty(board: Leaderboard, entry: Entry) -> disclosed.RowUncertainty | None:
    """How sure a row is; None where that is not said or not known."""
    column, found = primary_column(list(board.columns.all())), getattr(entry, "uncertainty", None)
    return None if column is None or found is None else disclosed.row_uncertainty(board, column, found)


def remarks_on_uncertainty(reader: Reader, boards: Iterable[Leaderboard]) -> dict[int, str]:
    """By board why some of its rows have no interval, of the boards of which this organizer may know. One query."""
    by_number = {board.pk: board for board in boards}
    rows = BoardUncertainty.objects.filter(leaderboard__in=by_number).exclude(remark="").values_list("pk", "remark")
    return {pk: remark for pk, remark in rows if disclosed.may_see_remark(reader, by_number[pk])}


def board_uncertainty(board: Leaderboard) -> disclosed.BoardUncertainty | None:
    """How sure a board is; None where that is not said or not known. One query."""
    column = primary_column(list(board.columns.all()))
    if column is None or not disclosed.says_uncertainty(board, column):
        return None
    found = BoardUncertainty.objects.filter(leaderboard=board).first()
    return None if found is None else disclosed.board_uncertainty(board, column, found)

"""The uncertainty of rows and boards, as those who see the board may read it."""

from collections.abc import Iterable

from competitions.catalog.models import Leaderboard
from competitions.disclosure import uncertainty as disclosed
from competitions.disclosure.readers import Reader
from competitions.leaderboards.models import BoardComparison, BoardUncertainty, Entry
from competitions.leaderboards.ranking.values import primary_column


def row_uncertainty(board: Leaderboard, entry: Entry) -> disclosed.RowUncertainty | None:
    """The uncertainty of a row; None where that is not said or not known."""
    column, facts = primary_column(list(board.columns.all())), getattr(entry, "uncertainty", None)
    return None if column is None or facts is None else disclosed.row_uncertainty(board, column, facts)


def remarks_on_uncertainty(reader: Reader, boards: Iterable[Leaderboard]) -> dict[int, str]:
    """Tell an organizer, by board, why rows have no interval, where they may know it. One query."""
    by_number = {board.pk: board for board in boards}
    rows = BoardUncertainty.objects.filter(leaderboard__in=by_number).exclude(remark="").values_list("pk", "remark")
    return {pk: remark for pk, remark in rows if disclosed.may_see_remark(reader, by_number[pk])}


def optimism(reader: Reader, board: Leaderboard, entry: Entry) -> str | None:
    """The luck in a row as the best of its team's tries; None for who may not know it."""
    column, facts = primary_column(list(board.columns.all())), getattr(board, "uncertainty", None)
    if column is None or facts is None or not disclosed.says_uncertainty(board, column):
        return None
    return disclosed.optimism(reader, board, column, facts, entry.submissions)


def foreseen_differences(reader: Reader, boards: Iterable[Leaderboard]) -> dict[int, disclosed.Foreseen]:
    """The differences that each board's test set tells apart, where the reader may know them. One query."""
    by_number = {board.pk: board for board in boards}
    rows = BoardUncertainty.objects.filter(leaderboard__in=by_number)
    by_board = {row.pk: disclosed.foreseen(reader, by_number[row.pk], row) for row in rows}
    return {pk: foreseen for pk, foreseen in by_board.items() if foreseen is not None}


def board_uncertainty(board: Leaderboard) -> disclosed.BoardUncertainty | None:
    """The uncertainty of a board, by a query; None where that is not said or not known."""
    column = primary_column(list(board.columns.all()))
    if column is None or not disclosed.says_uncertainty(board, column):
        return None
    facts: BoardUncertainty | None = getattr(board, "uncertainty", None)
    return None if facts is None else disclosed.board_uncertainty(board, column, facts)


def comparison(board: Leaderboard) -> tuple[list[int], disclosed.Comparison] | None:
    """The numbers of the best rows, and their comparison; None where that is not known. One query."""
    column = primary_column(list(board.columns.all()))
    facts = BoardComparison.objects.filter(leaderboard=board).first()
    shown = None if column is None or facts is None else disclosed.comparison(board, column, facts)
    return None if facts is None or shown is None else (facts.entries, shown)

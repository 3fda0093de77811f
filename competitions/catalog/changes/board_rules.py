"""Rules of boards and their columns, said by column and field, whichever form or program changes them."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from competitions.catalog.changes.change import Fault
from competitions.catalog.models import Column, Leaderboard
from competitions.catalog.queue_rights import seal_fault
from competitions.catalog.sealed_keys import keys_under_seal, keys_under_seal_on

SEALED_HERE: Final = "The score {key!r} is sealed in this phase until the reveal; here everybody would see it."
OPEN_ELSEWHERE: Final = "The score {key!r} is on an open board of this phase, too. Give it a key of its own."
SEALED_ON_TASK: Final = "Another phase keeps the score {key!r} sealed on the same task; here everybody would see it."
NO_DEVIATION: Final = "There is no other column with the key {key!r} on this board. Add one, hidden if you like."
KEEPS_ITS_KEY: Final = "The column {key!r} has sealed scores: it keeps its key and stays on the board until the reveal."


class ColumnFault(NamedTuple):
    """A fault in a column's field; in all columns together where `place` is None."""

    place: int | None
    field: str
    text: str


def faults_of_board(board: Leaderboard, stored: Leaderboard | None) -> Iterator[Fault]:
    """Fields and their faults. A sealed board stays sealed: only the reveal opens it."""
    phase = board.phase
    if board.visibility == Leaderboard.Visibility.SEALED and phase.revealed_at is None:
        if fault := seal_fault(phase.competition, phase.competition.queue):
            yield "visibility", fault
        return
    if stored is None or not (stored.scores.exists() or stored.sealed_keys.exists()):
        return
    if stored.is_sealed and board.visibility != stored.visibility:
        yield "visibility", "This board has sealed scores. To show them, use the action Reveal in the list of phases."


def faults_of_columns(board: Leaderboard, columns: Sequence[Column]) -> Iterator[ColumnFault]:
    """Faults of the columns that the board would have, in their order; `board` has its new settings."""
    yield from _deviations(columns)
    if board.phase.revealed_at is not None:
        return
    yield from _sealed_columns_gone(board, columns)
    if board.is_set_sealed:
        yield from _shown(columns, _open_keys(board), OPEN_ELSEWHERE)
        return
    yield from _shown(columns, keys_under_seal(board.phase, besides=board.pk), SEALED_HERE)
    on_tasks = keys_under_seal_on(board.phase.tasks.all(), phase=board.phase)
    yield from _shown(columns, set(on_tasks), SEALED_ON_TASK)


def _deviations(columns: Sequence[Column]) -> Iterator[ColumnFault]:
    """A board keeps the scores of its columns alone, so what is shown behind ± is one of them."""
    keys = {column.key for column in columns}
    for place, column in enumerate(columns):
        spread = column.spread_key
        if spread and (spread == column.key or spread not in keys):
            yield ColumnFault(place, "spread_key", NO_DEVIATION.format(key=spread))


def _shown(columns: Sequence[Column], keys: set[str], text: str) -> Iterator[ColumnFault]:
    """A fault at each column that shows one of these scores."""
    for place, column in enumerate(columns):
        if column.kind == Column.Kind.SCORE and column.key in keys:
            yield ColumnFault(place, "key", text.format(key=column.key))


def _sealed_columns_gone(board: Leaderboard, columns: Sequence[Column]) -> Iterator[ColumnFault]:
    """A column whose scores are under seal stays as it is: its board would say less than what was scored."""
    if not board.pk:
        return
    recorded = set(board.sealed_keys.values_list("key", flat=True))
    after = {column.pk: (column.key, column.kind) for column in columns if column.pk}
    for column in board.columns.filter(key__in=recorded, kind=Column.Kind.SCORE):
        if after.get(column.pk) != (column.key, column.kind):
            yield ColumnFault(None, "", KEEPS_ITS_KEY.format(key=column.key))


def _open_keys(board: Leaderboard) -> set[str]:
    """Keys of the scores that the other boards of the phase show to everybody."""
    others = Leaderboard.objects.filter(phase=board.phase_id).exclude(pk=board.pk).select_related("phase")
    return {key for other in others.prefetch_related("columns") if not other.is_set_sealed for key in other.score_keys}

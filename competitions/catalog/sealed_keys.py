"""A permanent record of scores that workers were asked for under seal."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q, QuerySet

from competitions.catalog.models import Column, Leaderboard, Phase, SealedKey, Task


class ScoreColumn(NamedTuple):
    """A column of a board that shows a score."""

    board: int
    visibility: str
    key: str


def score_columns(phase: Phase) -> list[ScoreColumn]:
    """The columns with scores of all boards of a phase, in the order of the pages."""
    columns = Column.objects.filter(leaderboard__phase=phase, kind=Column.Kind.SCORE)
    rows = columns.order_by("leaderboard__index", "leaderboard_id", "index", "pk")
    return [ScoreColumn(*row) for row in rows.values_list("leaderboard", "leaderboard__visibility", "key")]


def sealed_keys_record(*, phase: Phase, now: datetime, columns: Sequence[ScoreColumn] | None = None) -> None:
    """Record the keys of every score that the phase's boards keep sealed now. Safe to call twice.

    `columns` are the phase's, if the caller has just read them. Called before a worker is told which scores to send,
    and again when they are recorded: between the two an organizer may rename or delete the column. Call it in a
    transaction without a board's lock: it may lock the phase, then some boards.
    """
    if phase.revealed_at is not None:
        return
    sealed = _set_sealed(phase, score_columns(phase) if columns is None else columns)
    if not sealed:
        return
    missing = sealed - set(phase.sealed_keys.values_list("leaderboard_id", "key"))
    if missing:
        _record(phase, missing, now)


def _record(phase: Phase, missing: set[tuple[int, str]], now: datetime) -> None:
    """Write the keys and mark their boards. Locks: the phase, then its boards in order."""
    Phase.objects.select_for_update(no_key=True).get(pk=phase.pk)
    boards = Leaderboard.objects.select_for_update(of=("self",), no_key=True).filter(
        pk__in={board for board, _ in missing}
    )
    locked = list(boards.order_by("pk").values_list("pk", flat=True))
    Leaderboard.objects.filter(pk__in=locked, has_sealed_keys=False).update(has_sealed_keys=True)
    SealedKey.objects.bulk_create(
        [
            SealedKey(phase=phase, leaderboard_id=board, key=key, sealed_at=now)
            for board, key in sorted(missing)
            if board in locked
        ],
        ignore_conflicts=True,
    )


def phases_under_seal() -> QuerySet[Phase]:
    """Phases that hold sealed scores: sealed by settings, or on record."""
    boards = Leaderboard.objects.filter(Q(visibility=Leaderboard.Visibility.SEALED) | Q(has_sealed_keys=True))
    is_set = Q(visibility=Phase.Visibility.SEALED) | Q(pk__in=boards.values("phase"))
    return Phase.objects.filter(is_set, revealed_at=None)


def _set_sealed(phase: Phase, columns: Sequence[ScoreColumn]) -> set[tuple[int, str]]:
    """Boards and keys of the scores that are sealed by the settings of today."""
    return {
        (column.board, column.key)
        for column in columns
        if phase.is_sealed or column.visibility == Leaderboard.Visibility.SEALED
    }


def keys_under_seal(phase: Phase, *, besides: int | None = None) -> set[str]:
    """Keys of scores that no open board may show: sealed by settings or on record.

    `besides` leaves out the settings of a board that is about to change.
    """
    if phase.revealed_at is not None:
        return set()
    by_settings = {key for board, key in _set_sealed(phase, score_columns(phase)) if board != besides}
    return by_settings | set(phase.sealed_keys.values_list("key", flat=True))


def keys_under_seal_on(tasks: Iterable[Task], *, phase: Phase) -> dict[str, Phase]:
    """Keys that other phases keep sealed on these tasks: the same file would get the same scores here."""
    others = (
        Phase.objects.filter(tasks__in=[task.pk for task in tasks], revealed_at=None).exclude(pk=phase.pk).distinct()
    )
    return {key: other for other in others for key in keys_under_seal(other)}


def published_by(phase: Phase, tasks: Iterable[Task]) -> dict[str, Phase]:
    """The keys of `keys_under_seal_on` that an open board of this phase would show."""
    if phase.is_sealed or not phase.pk:
        return {}
    boards = Leaderboard.objects.filter(phase=phase, columns__kind=Column.Kind.SCORE)
    if phase.revealed_at is None:
        boards = boards.exclude(visibility=Leaderboard.Visibility.SEALED)
    shown = set(boards.order_by().values_list("columns__key", flat=True))
    return {key: other for key, other in keys_under_seal_on(tasks, phase=phase).items() if key in shown}

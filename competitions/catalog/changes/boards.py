"""Boards with their columns, written together; a rehearsal tells what a change does to ranks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat
from django.utils.text import slugify

from competitions.catalog.changes.board_rules import faults_of_board, faults_of_columns
from competitions.catalog.changes.change import (
    Change,
    FieldValues,
    change_impact,
    change_to,
    changed_values,
    definition_changed,
    editable_values,
    impact_check,
    require_faultless,
)
from competitions.catalog.models import Column, Leaderboard, Phase
from core.confirmations import require_confirmation
from core.models import next_index
from files.text import free_name

COLUMNS: Final = "columns"
COLUMN_WORDS: Final = "column_words"  # stands for columns of which no more than these is changed
WORDS: Final = frozenset({"title", "unit"})
UNRANKED: Final = frozenset(
    {
        "title",
        "index",
        "is_transposed",
        "is_hidden",
        "gives_exact_scores",
        "shows_uncertainty",
        "confidence_percent",
        COLUMN_WORDS,
    }
)  # none of them moves a row
MOST_RANKED: Final = 2000  # rows of a board whose ranks are compared while somebody waits
COPIED: Final = (
    "key",
    "title",
    "index",
    "rule",
    "max_selected",
    "is_hidden",
    "is_transposed",
    "shows_tasks",
    "breaks_ties",
    "gives_exact_scores",
    "for_agents",
)

Compare = Callable[[Leaderboard], list[str]]
_watches: list[Callable[[Leaderboard], Compare]] = []


def board_watch(watch: Callable[[Leaderboard], Compare]) -> Callable[[Leaderboard], Compare]:
    """Register a check of boards, called before a change; it returns a function that compares after it."""
    _watches.append(watch)
    return watch


@dataclass(frozen=True)
class ColumnChanges:
    """A board's columns that are to be written, in their order, and those that leave it."""

    written: tuple[Column, ...]
    removed: tuple[Column, ...]

    @property
    def is_empty(self) -> bool:
        return not self.written and not self.removed


def column_changes(board: Leaderboard, columns: Sequence[Column]) -> ColumnChanges:
    """The difference between the columns that the board has and those that it would have."""
    stored = {column.pk: column for column in board.columns.all()} if board.pk else {}
    written = [
        column
        for column in columns
        if column.pk not in stored or editable_values(column) != editable_values(stored[column.pk])
    ]
    named = {column.pk for column in columns}
    return ColumnChanges(tuple(written), tuple(column for pk, column in stored.items() if pk not in named))


@transaction.atomic
def change_board(
    board: Leaderboard, columns: Sequence[Column], *, now: datetime, confirmed: object = ""
) -> Change[Leaderboard]:
    """Store an edited board, new or changed, with all of its columns; columns left out are deleted.

    `confirmed` is what `NeedsConfirmation` gave out. Raises `ValidationError` by field (of columns at `columns`), `NeedsConfirmation`,
    or what a receiver of the change refuses; then nothing is written.
    """
    change, differences = _change(board, columns)
    require_faultless([*faults_of_board(board, change.before), *_column_faults(board, columns)])
    if change.before is not None:
        impact = _impact(change, columns, differences, now)
        require_confirmation(impact, _state(change.before), confirmed)
    return _write(change, differences, now)


@transaction.atomic
def store_board(board: Leaderboard, columns: Sequence[Column], *, now: datetime) -> Change[Leaderboard]:
    """Write a board with its columns and send the signal; imports compare everything themselves."""
    change, differences = _change(board, columns, is_checked=False)
    return _write(change, differences, now)


def _change(
    board: Leaderboard, columns: Sequence[Column], *, is_checked: bool = True
) -> tuple[Change[Leaderboard], ColumnChanges]:
    """The change, under the locks of the phase and then the board. Raises `ValidationError`."""
    Phase.objects.select_for_update(of=("self",), no_key=True).get(pk=board.phase_id)
    change = change_to(board, is_checked=is_checked)
    differences = column_changes(board, columns)
    for column in differences.written:
        column.leaderboard = board
        if is_checked:
            column.clean_fields(exclude=["leaderboard"])
            column.clean()
    if differences.is_empty:
        return change, differences
    named = COLUMN_WORDS if _are_words(board, differences) else COLUMNS
    return replace(change, fields=change.fields | {named}), differences


def _are_words(board: Leaderboard, differences: ColumnChanges) -> bool:
    """True where columns are called otherwise, and nothing else about them changes."""
    stored = {column.pk: column for column in board.columns.all()} if board.pk else {}
    return not differences.removed and all(
        column.pk in stored and changed_values(stored[column.pk], editable_values(column)).keys() <= WORDS
        for column in differences.written
    )


def _column_faults(board: Leaderboard, columns: Sequence[Column]) -> Iterator[tuple[str, str]]:
    """Faults of columns as faults of the board, which name the column."""
    keys = [column.key for column in columns]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield COLUMNS, f"Two columns have the key {key!r}."
    if sum(column.is_primary for column in columns) > 1:
        yield COLUMNS, "Only one column can be the primary one."
    for fault in faults_of_columns(board, columns):
        named = f"{columns[fault.place].title}: " if fault.place is not None else ""
        yield COLUMNS, f"{named}{fault.text}"


def _state(board: Leaderboard) -> dict[str, object]:
    """The stored board and columns that a confirmation is for."""
    columns = {f"{COLUMNS}.{column.pk}": tuple(editable_values(column).items()) for column in board.columns.all()}
    return editable_values(board) | columns


def _impact(
    change: Change[Leaderboard], columns: Sequence[Column], differences: ColumnChanges, now: datetime
) -> list[str]:
    """Sentences on what the change does to a board that has scores."""
    board = change.before
    if board is None or not change.fields or not board.score_count:
        return []
    changes = {name: getattr(change.row, name) for name in change.fields - {COLUMNS, COLUMN_WORDS}}
    sentences = _sentences(board, changes, differences.removed, now)
    if change.fields <= UNRANKED:
        return sentences
    return [*sentences, *(_rehearse(change, columns, now) if _is_compared(board) else _too_many(board))]


def _sentences(board: Leaderboard, changes: FieldValues, removed: Iterable[Column], now: datetime) -> list[str]:
    gone = [f"The column “{column.title}” leaves the board. Its scores stay recorded." for column in removed]
    return [*change_impact(board, changes, now), *gone]


def _is_compared(board: Leaderboard) -> bool:
    return board.entry_count <= MOST_RANKED


def _too_many(board: Leaderboard) -> list[str]:
    return [f"All {board.entry_count:,} rows are ranked again, and ranks may change."]


def watch_board(board: Leaderboard) -> Callable[[Leaderboard, datetime], list[str]]:
    """Look at a board before other code writes it; the result says what has changed, as `change_board`."""
    before = {column.pk: column for column in board.columns.all()}
    compares = [watch(board) for watch in _watches] if board.score_count and _is_compared(board) else []

    def impact(changed: Leaderboard, now: datetime) -> list[str]:
        if not board.score_count:
            return []
        after = {column.pk: column for column in changed.columns.all()}
        changes = changed_values(board, editable_values(changed))
        sentences = _sentences(board, changes, [before[pk] for pk in before if pk not in after], now)
        are_same = {pk: editable_values(row) for pk, row in before.items()} == {
            pk: editable_values(row) for pk, row in after.items()
        }
        if are_same and changes.keys() <= UNRANKED:
            return sentences
        ranks = [sentence for compare in compares for sentence in compare(changed)]
        return [*sentences, *(ranks if _is_compared(board) else _too_many(board))]

    return impact


def _rehearse(change: Change[Leaderboard], columns: Sequence[Column], now: datetime) -> list[str]:
    """Sentences of those who watch boards on the change, which is made and taken back."""
    assert change.before is not None, "a new board has no ranks"
    compares = [watch(change.before) for watch in _watches]
    keys = [column.pk for column in columns]
    with transaction.atomic():
        _write(change, column_changes(change.row, columns), now)
        after = Leaderboard.objects.select_related("phase__competition").get(pk=change.row.pk)
        sentences = [sentence for compare in compares for sentence in compare(after)]
        transaction.set_rollback(True)
    for column, key in zip(columns, keys, strict=True):
        column.pk = key  # a new one is new again
    return sentences


def _write(change: Change[Leaderboard], differences: ColumnChanges, now: datetime) -> Change[Leaderboard]:
    if not change.fields:
        return change
    board = change.row
    if change.before is None:
        board.save()
    elif settings := sorted(change.fields - {COLUMNS, COLUMN_WORDS}):
        board.save(update_fields=settings)
    _write_columns(board, differences)
    definition_changed.send(sender=Leaderboard, change=change, now=now)
    return change


def _write_columns(board: Leaderboard, differences: ColumnChanges) -> None:
    """Keys and the mark of the primary column are free before they are given anew: they may change places."""
    written, removed = differences.written, differences.removed
    board.columns.filter(pk__in=[column.pk for column in removed]).delete()
    changed = board.columns.filter(pk__in=[column.pk for column in written if column.pk])
    changed.update(is_primary=False, key=Concat(Value("~"), F("pk"), output_field=CharField()))
    if any(column.is_primary for column in written):
        board.columns.update(is_primary=False)
    for column in written:
        column.leaderboard = board
        column.save()


@impact_check(Leaderboard)
def scores_are_sealed(board: Leaderboard, changes: FieldValues, now: datetime) -> Iterator[str]:
    if changes.get("visibility") == Leaderboard.Visibility.SEALED:
        yield "Scores that everybody has seen so far would be sealed until the reveal; whoever kept them still has them."
    if "is_hidden" in changes:
        is_hidden = changes["is_hidden"]
        yield "Teams and visitors no longer see the board." if is_hidden else "Everybody sees the board from now on."


def new_board(phase: Phase, title: str) -> Leaderboard:
    """A board of the phase, the last in its order, under a key that is free; not saved."""
    taken = set(phase.leaderboards.values_list("key", flat=True))
    key = free_name(slugify(title)[:30] or "board", taken) if "main" in taken else "main"
    return Leaderboard(phase=phase, title=title, key=key, index=next_index(phase.leaderboards))


def copy_board(board: Leaderboard, phase: Phase, *, now: datetime) -> Leaderboard:
    """A board of the phase with the same settings and columns, and without scores."""
    columns = list(board.columns.all())
    for column in columns:
        column.pk = None
    copy = Leaderboard(phase=phase, **{name: getattr(board, name) for name in COPIED})
    return store_board(copy, columns, now=now).row

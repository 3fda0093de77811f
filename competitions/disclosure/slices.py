"""Scores by slice of a submission: who reads them, and with how many digits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from competitions.catalog.models import Column, Phase, ShowsSlices
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import visible_columns
from scoring.slices import Slice


@dataclass(frozen=True)
class ShownSlice:
    """A slice with the digits of its column; empty texts where there is no score, or no interval."""

    value: str
    items: int
    score: str
    low: str
    high: str


@dataclass(frozen=True)
class SliceTable:
    """A column's scores by one slicing."""

    column: Column
    name: str
    rows: list[ShownSlice]


def may_see_slices(reader: Reader, phase: Phase, *, is_own: bool) -> bool:
    """True where this person may read scores by slice of a submission of the phase.

    `is_own` says that it is of a team of theirs. Organizers as they may see its scores; teams of their own submissions by the
    phase's rule, and never while it holds sealed scores. Slices of a few items tell labels.
    """
    if reader.organizes(phase):
        return not phase.holds_sealed_scores or reader.uses_sealed_right(phase)
    return is_own and not phase.holds_sealed_scores and _are_due(reader, phase)


def _are_due(reader: Reader, phase: Phase) -> bool:
    match phase.shows_slices:
        case ShowsSlices.AT_ONCE:
            return True
        case ShowsSlices.AFTER_CLOSE:
            return phase.is_settled(reader.now)
        case ShowsSlices.AFTER_REVEAL:
            return phase.revealed_at is not None
        case _:
            return False


def slice_tables(
    reader: Reader, phase: Phase, slices: Mapping[str, Mapping[str, Sequence[Slice]]], *, is_own: bool
) -> list[SliceTable]:
    """The scores by slice that this person may read: of columns that they see, each key once.

    The column that ranks comes first.
    """
    if not may_see_slices(reader, phase, is_own=is_own):
        return []
    seen = [column for board in phase.leaderboards.all() for column in visible_columns(reader, board)]
    by_key: dict[str, Column] = {}
    for column in sorted(seen, key=lambda column: not column.is_primary):
        if column.kind == Column.Kind.SCORE:
            by_key.setdefault(column.key, column)
    return [
        SliceTable(by_key[key], name, [_shown(by_key[key], each) for each in some])
        for key in by_key
        for name, some in slices.get(key, {}).items()
    ]


def _shown(column: Column, each: Slice) -> ShownSlice:
    score, low, high = ("" if value is None else column.shown(value) for value in (each.score, each.low, each.high))
    return ShownSlice(each.value, each.items, score, low, high)

"""The leaderboard of a phase, made from what a bundle says."""

from datetime import datetime

from competitions.bundles.importing.rows import Existing, fill
from competitions.bundles.settings import read_settings
from competitions.catalog.changes.boards import store_board
from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.leaderboards.ranking.rules import CODABENCH_RULES
from files.bundles.addresses import board_key
from files.bundles.schema import ColumnSpec, LeaderboardSpec, PhaseSpec


def boards_write(phase: Phase, phase_spec: PhaseSpec, shared: LeaderboardSpec, now: datetime) -> None:
    """Replace the phase's boards by its own in the bundle, else by the one of the whole competition."""
    extra = phase_spec.podium
    before = Existing(phase.leaderboards.all(), "key")
    for index, spec in enumerate(extra.leaderboards or [shared]):
        key = board_key(spec)
        board_write(before.take(key, Leaderboard(phase=phase, key=key)), spec, rule=extra.rule, index=index, now=now)
    before.remove_others()


def board_write(
    board: Leaderboard, spec: LeaderboardSpec, *, now: datetime, rule: str | None = None, index: int = 0
) -> Leaderboard:
    """Write the board; with several tasks it shows each. The first column is primary if none is named.

    `rule` is the phase's own, where it is not the leaderboard's.
    """
    extra = spec.podium
    fill(
        board,
        index=index,
        rule=extra.rule or CODABENCH_RULES[rule or spec.submission_rule],
        shows_tasks=board.phase.tasks.count() > 1 if extra.show_tasks is None else extra.show_tasks,
        **read_settings(Leaderboard, spec),
    )
    keys = {column.index: column.key for column in spec.columns}
    before = Existing(board.columns.all() if board.pk else [], "key")
    columns = [
        fill(
            before.take(column.key, Column(key=column.key)),
            is_primary=column.index == spec.primary_index,
            **_settings(column, keys),
        )
        for column in spec.columns
    ]
    return store_board(board, columns, now=now).row


def _settings(spec: ColumnSpec, keys: dict[int, str]) -> dict[str, object]:
    computed = spec.computation is not None
    kind = Column.Kind.COMPUTED if computed else Column.Kind.METER if spec.podium.meter else Column.Kind.SCORE
    return read_settings(Column, spec) | {
        "index": spec.index,
        "kind": kind,
        "computation": spec.computation or "",
        "sources": [keys[index] for index in spec.computation_indexes or []],
    }

"""The leaderboard of a phase, made from what a bundle says."""

from typing import Any

from competitions.bundles.importing.rows import Existing, written
from competitions.bundles.reading.addresses import board_key
from competitions.bundles.reading.schema import ColumnSpec, LeaderboardSpec, PhaseSpec
from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.leaderboards.ranking.rules import CODABENCH_RULES


def boards_write(phase: Phase, phase_spec: PhaseSpec, shared: LeaderboardSpec) -> None:
    """The phase's own boards where the bundle gives it some, else the one of the whole competition; in place of those that it has."""
    extra = phase_spec.extra
    before = Existing(phase.leaderboards.all(), "key")
    for index, spec in enumerate(extra.leaderboards or [shared]):
        key = board_key(spec)
        board_write(before.take(key, Leaderboard(phase=phase, key=key)), spec, rule=extra.rule, index=index)
    before.remove_others()


def board_write(board: Leaderboard, spec: LeaderboardSpec, *, rule: str | None = None, index: int = 0) -> Leaderboard:
    """Write the board, new or changed; with several tasks it shows each of them. The first column is primary where none is named.

    `rule` is the phase's own, where it is not the leaderboard's.
    """
    extra = spec.podium
    written(
        board, is_checked=False, title=spec.title, index=index,
        rule=extra.rule or CODABENCH_RULES[rule or spec.submission_rule], visibility=extra.visibility, max_selected=extra.max_selected,
        selection_closes_at=extra.selection_closes, freeze_at=extra.freeze,
        breaks_ties=extra.break_ties, gives_exact_scores=extra.exact_scores, is_hidden=spec.hidden, is_transposed=extra.transposed,
        shows_tasks=board.phase.tasks.count() > 1 if extra.show_tasks is None else extra.show_tasks,
    )  # fmt: skip
    keys = {column.index: column.key for column in spec.columns}
    board.columns.exclude(key=keys.get(spec.primary_index)).update(is_primary=False)  # there is never a second one
    before = Existing(board.columns.all(), "key")
    for column in spec.columns:
        row = before.take(column.key, Column(leaderboard=board, key=column.key))
        written(row, is_primary=column.index == spec.primary_index, **_settings(column, keys))
    before.remove_others()
    return board


def _settings(spec: ColumnSpec, keys: dict[int, str]) -> dict[str, Any]:
    computed = spec.computation is not None
    kind = Column.Kind.COMPUTED if computed else Column.Kind.METER if spec.podium.meter else Column.Kind.SCORE
    return {
        "title": spec.title, "unit": spec.podium.unit, "index": spec.index, "sorting": spec.sorting,
        "precision": spec.precision, "is_hidden": spec.hidden, "rank_by_shown": spec.podium.rank_by_shown, "kind": kind,
        "spread_key": spec.podium.spread, "computation": spec.computation or "",
        "sources": [keys[index] for index in spec.computation_indexes or []],
    }  # fmt: skip

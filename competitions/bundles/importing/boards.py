"""The leaderboard of a phase, made from what a bundle says."""

from django.utils.text import slugify

from competitions.bundles.reading.schema import ColumnSpec, LeaderboardSpec, PhaseSpec
from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.leaderboards.ranking.rules import CODABENCH_RULES


def boards_create(phase: Phase, phase_spec: PhaseSpec, shared: LeaderboardSpec) -> None:
    """The phase's own boards where the bundle gives it some, else the one of the whole competition."""
    extra = phase_spec.extra
    for index, spec in enumerate(extra.leaderboards or [shared]):
        board_create(phase, spec, rule=extra.rule, index=index)


def board_create(phase: Phase, spec: LeaderboardSpec, *, rule: str | None = None, index: int = 0) -> Leaderboard:
    """Make the board; with several tasks it shows each of them. The first column is primary where none is named.

    `rule` is the phase's own, where it is not the leaderboard's.
    """
    extra = spec.podium
    board = Leaderboard.objects.create(
        phase=phase, title=spec.title, key=slugify(spec.key)[:36] or "main", index=index,
        rule=extra.rule or CODABENCH_RULES[rule or spec.submission_rule], visibility=extra.visibility, max_selected=extra.max_selected,
        selection_closes_at=extra.selection_closes, freeze_at=extra.freeze,
        breaks_ties=extra.break_ties, gives_exact_scores=extra.exact_scores, is_hidden=spec.hidden, is_transposed=extra.transposed,
        shows_tasks=phase.tasks.count() > 1 if extra.show_tasks is None else extra.show_tasks,
    )  # fmt: skip
    keys = {column.index: column.key for column in spec.columns}
    for column in spec.columns:
        made = _column(column, keys)
        made.leaderboard, made.is_primary = board, column.index == spec.primary_index
        made.full_clean()
        made.save()
    return board


def _column(spec: ColumnSpec, keys: dict[int, str]) -> Column:
    computed = spec.computation is not None
    kind = Column.Kind.COMPUTED if computed else Column.Kind.METER if spec.podium.meter else Column.Kind.SCORE
    return Column(
        key=spec.key, title=spec.title, unit=spec.podium.unit, index=spec.index, sorting=spec.sorting,
        precision=spec.precision, is_hidden=spec.hidden, rank_by_shown=spec.podium.rank_by_shown, kind=kind,
        spread_key=spec.podium.spread,
        computation=spec.computation or "", sources=[keys[index] for index in spec.computation_indexes or []],
    )  # fmt: skip

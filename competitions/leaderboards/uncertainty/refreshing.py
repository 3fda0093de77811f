"""Says how sure a board is: intervals, ranges of ranks and tiers of its rows, from their replicates.

A board is compared on the resamples that most of its rows share. A row without replicates on these has no interval, and in
the ranges of the others it may stand anywhere.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F
from numpy.typing import NDArray

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import BoardUncertainty, Entry, EntryUncertainty, ScoreReplicates
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.uncertainty.asking import UNCERTAINTY_JOB, waiting_boards
from competitions.leaderboards.uncertainty.reading import read_missing
from core.background import jobs
from core.background.bounded import Stopped
from core.background.rows import claim
from scoring.metrics.metric import Direction
from scoring.standings import Standings, intervals, standings, wilson

log = structlog.get_logger(__name__)
MOST: Final = 10_000  # rows that are compared, the best ones
BATCH: Final = 2000
OURS: Final = "They could not be read by a fault of ours; the administrators find it in the log."
OTHER_RESAMPLES: Final = "They are on other resamples than those of most rows. Run these submissions again."


@dataclass(frozen=True)
class Known:
    """Rows with replicates on the same resamples, in the board's order; shape (rows, resamples)."""

    entries: list[Entry]
    scores: NDArray[np.float64]
    replicates: NDArray[np.float32]
    share_items: NDArray[np.int64]  # items, where a score is the share of those that are right, else 0

    def those(self, *, baselines: bool) -> "Known":
        """The baselines, or all others."""
        chosen = np.array([entry.is_baseline == baselines for entry in self.entries], dtype=bool)
        entries = [entry for entry in self.entries if entry.is_baseline == baselines]
        return Known(entries, self.scores[chosen], self.replicates[chosen], self.share_items[chosen])

    def ends(self, low: NDArray[np.float64], high: NDArray[np.float64], level: float) -> Iterator[tuple[float, float]]:
        """The intervals' ends; Wilson's for a share whose replicates all agree, as at 0 and 1."""
        for score, items, *both in zip(self.scores, self.share_items, low, high, strict=True):
            is_certain = items > 0 and both[0] == both[1] and 0 <= score <= 1
            yield wilson(float(score), int(items), level=level) if is_certain else (float(both[0]), float(both[1]))


def uncertainty_perform(pk: int) -> None:
    """Say how sure one board is; nothing when nobody asks for it any more."""
    claimed = claim(waiting_boards(), pk)
    if claimed is None:
        return
    row = BoardUncertainty.objects.get(pk=pk)
    if row.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(done=row.wanted, attempts=0, remark=OURS)
        return
    board = Leaderboard.objects.prefetch_related("columns").get(pk=pk)
    try:
        read_missing(board, is_wanted=claimed.renew)
    except Stopped:
        log.info("uncertainty_stopped", board=pk)
        return
    with claimed.kept():
        findings = _look(board)
    with transaction.atomic():
        Leaderboard.objects.select_for_update(of=("self",)).get(pk=pk)
        claimed.conclude(done=row.wanted, attempts=0, **findings.board)
        _replace(board, findings.rows)
        Leaderboard.objects.filter(pk=pk).update(version=F("version") + 1)


UNCERTAINTY: Final = jobs.Job(UNCERTAINTY_JOB, waiting=waiting_boards, perform=uncertainty_perform)


@dataclass(frozen=True)
class Findings:
    """The fields of `BoardUncertainty` that are written, and the rows."""

    board: dict[str, object]
    rows: list[EntryUncertainty]


def _look(board: Leaderboard) -> Findings:
    column = primary_column(list(board.columns.all()))
    if column is None or not board.shows_uncertainty:
        return Findings({"rows_known": 0, "rows_unknown": 0, "remark": "", "first_tier": 0, "resolution": None}, [])
    known, unknown, remark = _known(board, column)
    fields: dict[str, object] = {
        "rows_known": len(known.entries),
        "rows_unknown": unknown,
        "remark": remark,
        "resamples": known.replicates.shape[1],
        "resolution": None,
        "first_tier": 0,
    }
    ranked, level = known.those(baselines=False), board.confidence_percent / 100
    rows = _baseline_rows(known.those(baselines=True), level)
    if ranked.entries:
        direction: Direction = "min" if column.sorting == Column.Sorting.ASC else "max"
        items = int(ranked.share_items[0]) if len(set(ranked.share_items.tolist())) == 1 else 0
        stands = standings(ranked.scores, ranked.replicates, direction=direction, level=level, share_items=items)
        rows += _ranked_rows(ranked, stands, unknown, level)
        fields["resolution"] = None if np.isnan(stands.resolution) else stands.resolution
        fields["first_tier"] = int((stands.tier == 1).sum())
    return Findings(fields, rows)


def _known(board: Leaderboard, column: Column) -> tuple[Known, int, str]:
    """The rows that can be compared, how many ranked ones cannot, and why."""
    entries = list(Entry.objects.filter(leaderboard=board).order_by(*Entry.IN_ORDER).defer("trend")[:MOST])
    by_score = ScoreReplicates.objects.in_bulk([entry.score_id for entry in entries])
    streams = Counter(each.stream for each in by_score.values() if each.values)
    stream = streams.most_common(1)[0][0] if streams else ""
    usable, remarks, unknown = [], Counter[str](), 0
    for entry in entries:
        replicates = by_score.get(entry.score_id)
        if replicates is not None and replicates.values and replicates.stream == stream and column.key in entry.values:
            usable.append((entry, np.frombuffer(bytes(replicates.values), dtype="<f4"), replicates.share_items))
            continue
        unknown += not entry.is_baseline
        remark = replicates.remark if replicates is not None else ""
        remarks[remark or (OTHER_RESAMPLES if replicates is not None and replicates.values else OURS)] += 1
    count = min((len(values) for _, values, _ in usable), default=0)
    matrix = np.stack([values[:count] for _, values, _ in usable]) if usable else np.empty((0, 0), dtype=np.float32)
    scores = np.array([float(entry.values[column.key]) for entry, _, _ in usable])
    share_items = np.array([share_items for _, _, share_items in usable], dtype=np.int64)
    known = Known([entry for entry, _, _ in usable], scores, matrix, share_items)
    return known, unknown, remarks.most_common(1)[0][0] if remarks else ""


def _baseline_rows(known: Known, level: float) -> list[EntryUncertainty]:
    """Baselines have intervals and take no rank."""
    if not known.entries:
        return []
    ends = known.ends(*intervals(known.scores, known.replicates, level=level), level)
    return [
        EntryUncertainty(entry=entry, low=low, high=high)
        for entry, (low, high) in zip(known.entries, ends, strict=True)
    ]


def _ranked_rows(known: Known, stands: Standings, unknown: int, level: float) -> list[EntryUncertainty]:
    ends = known.ends(stands.low, stands.high, level)
    return [
        EntryUncertainty(
            entry=entry,
            low=low,
            high=high,
            first_rank=int(stands.first_rank[place]),
            last_rank=int(stands.last_rank[place]) + unknown,
            tier=int(stands.tier[place]),
            beats_above=None if np.isnan(stands.beats_above[place]) else float(stands.beats_above[place]),
        )
        for place, (entry, (low, high)) in enumerate(zip(known.entries, ends, strict=True))
    ]


def _replace(board: Leaderboard, rows: list[EntryUncertainty]) -> None:
    """Write the rows of entries that still show what was compared; the board's lock must be held."""
    EntryUncertainty.objects.filter(entry__leaderboard=board).delete()
    shown = dict(Entry.objects.filter(leaderboard=board).values_list("pk", "score"))
    current = [row for row in rows if shown.get(row.entry_id) == row.entry.score_id]
    EntryUncertainty.objects.bulk_create(current, batch_size=BATCH)

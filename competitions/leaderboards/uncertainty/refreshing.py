"""Says how sure a board is: intervals, ranges of ranks and tiers of its rows, from their replicates.

A board is compared on the resamples that most of its rows share. A row without replicates on these has no interval, and one
with values on too few of them has an interval alone. In the ranges of the others both may stand anywhere.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Max
from numpy.typing import NDArray

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.models import (
    BoardComparison,
    BoardUncertainty,
    Entry,
    EntryUncertainty,
    ScoreReplicates,
)
from competitions.leaderboards.ranking.rules import compared_board
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.uncertainty.asking import UNCERTAINTY_JOB, waiting_boards
from competitions.leaderboards.uncertainty.reading import ReplicateFiles, read_missing
from core.background import jobs
from core.background.bounded import Stopped
from core.background.rows import Claim, claims
from scoring.forecasts import chances_of_top, expected_rank_change
from scoring.metrics.metric import Direction
from scoring.standings import Standings, comparable, intervals, standings, wilson

log = structlog.get_logger(__name__)
MANY: Final = 20  # rows: then it is asked who stays among the first ten, else among the first three
MANY_TOP, FEW_TOP = 10, 3
BATCH: Final = 2000
MOST_BARS: Final = 30
OUTSIDE: Final = (0.02, 0.98)  # scores beyond these shares of rows are counted in the outer bars


MOST: Final = 10_000  # rows that are compared, the best ones
OURS: Final = f"They could not be read {jobs.ON_OUR_SIDE}"
FEW_SHARED: Final = "They have a value on too few of the resamples that the other rows share."
OTHER_RESAMPLES: Final = "They are on other resamples than those of most rows. Run these submissions again."


@dataclass(frozen=True)
class Known:
    """Rows with replicates on the same resamples, in the board's order; shape (rows, resamples)."""

    entries: list[Entry]
    scores: NDArray[np.float64]
    replicates: NDArray[np.float32]
    share_items: NDArray[np.int64]  # items, where a score is the share of those that are right, else 0
    items: int  # of the test set; 0 where that is not known

    def those(self, *, baselines: bool) -> "Known":
        """The baselines, or all others."""
        return self.where(np.array([entry.is_baseline == baselines for entry in self.entries], dtype=bool))

    def where(self, chosen: NDArray[np.bool_]) -> "Known":
        """The chosen rows."""
        entries = [entry for entry, is_chosen in zip(self.entries, chosen, strict=True) if is_chosen]
        return Known(entries, self.scores[chosen], self.replicates[chosen], self.share_items[chosen], self.items)

    def foreseen_resolution(self, level: float) -> float | None:
        """The smallest difference that is told apart where two rows' errors have nothing in common.

        Errors that are alike cancel: then it is less. None without a row.
        """
        if not self.entries:
            return None
        # Of a model that diverged, squares go beyond single precision, and some replicates are no numbers.
        error = float(np.median([row[np.isfinite(row)].astype(np.float64).std() for row in self.replicates]))
        return NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(2) * error

    def ends(self, low: NDArray[np.float64], high: NDArray[np.float64], level: float) -> Iterator[tuple[float, float]]:
        """The intervals' ends; Wilson's for a share whose replicates all agree, as at 0 and 1."""
        for score, items, *both in zip(self.scores, self.share_items, low, high, strict=True):
            is_certain = items > 0 and both[0] == both[1] and 0 <= score <= 1
            yield wilson(float(score), int(items), level=level) if is_certain else (float(both[0]), float(both[1]))


def known_rows(board: Leaderboard, column: Column) -> tuple[Known, int, str]:
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
    count = max((len(values) for _, values, _ in usable), default=0)
    matrix = np.full((len(usable), count), np.nan, dtype=np.float32)
    for line, (_, values, _) in zip(matrix, usable, strict=True):
        line[: len(values)] = values
    scores = np.array([float(entry.values[column.key]) for entry, _, _ in usable])
    share_items = np.array([share_items for _, _, share_items in usable], dtype=np.int64)
    items = max((by_score[entry.score_id].items for entry, _, _ in usable), default=0)
    known = Known([entry for entry, _, _ in usable], scores, matrix, share_items, items)
    return known, unknown, remarks.most_common(1)[0][0] if remarks else ""


@claims(waiting_boards)
def uncertainty_perform(row: BoardUncertainty, claimed: Claim) -> None:
    """Say how sure one board is; nothing when nobody asks for it any more."""
    if row.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(done=row.wanted, attempts=0, remark=OURS)
        return
    board = Leaderboard.objects.prefetch_related("columns").get(pk=row.pk)
    try:
        read_missing(board, files=ReplicateFiles(claimed.renew))
    except Stopped:
        log.info("uncertainty_stopped", board=row.pk)
        return
    with claimed.kept():
        findings = _look(board)
    with transaction.atomic():
        Leaderboard.objects.select_for_update(of=("self",), no_key=True).get(pk=row.pk)
        claimed.conclude(done=row.wanted, attempts=0, **findings.board)
        _replace(board, findings)
        Leaderboard.objects.filter(pk=row.pk).update(version=F("version") + 1)


UNCERTAINTY: Final = jobs.Job(UNCERTAINTY_JOB, waiting=waiting_boards, perform=uncertainty_perform)


@dataclass(frozen=True)
class Findings:
    """The fields of `BoardUncertainty` that are written, the rows, and the best ones against each other."""

    board: dict[str, object]
    rows: list[EntryUncertainty]
    comparison: BoardComparison | None = None


def _look(board: Leaderboard) -> Findings:
    column = primary_column(list(board.columns.all()))
    if column is None or not board.shows_uncertainty:
        return Findings({"rows_known": 0, "rows_unknown": 0, "remark": "", "first_tier": 0, "resolution": None}, [])
    known, unknown, remark = known_rows(board, column)
    ranked, level = known.those(baselines=False), board.confidence_percent / 100
    is_compared = comparable(ranked.replicates)
    ranked, left_out = ranked.where(is_compared), ranked.where(~is_compared)
    unknown += len(left_out.entries)
    unseen = unseen_items(board)
    fields: dict[str, object] = {
        "rows_known": len(known.entries) - len(left_out.entries),
        "rows_unknown": unknown,
        "remark": remark or (FEW_SHARED if left_out.entries else ""),
        "resamples": known.replicates.shape[1],
        "resolution": None,
        "first_tier": 0,
        "foreseen_resolution": known.foreseen_resolution(level),
        "items": known.items,
        "unseen_items": unseen,
        "top": 0,
    }
    rows = _unranked_rows(known.those(baselines=True), level) + _unranked_rows(left_out, level)
    if not ranked.entries:
        return Findings(fields, rows)
    direction: Direction = "min" if column.sorting == Column.Sorting.ASC else "max"
    items = int(ranked.share_items[0]) if len(set(ranked.share_items.tolist())) == 1 else 0
    stands = standings(ranked.scores, ranked.replicates, direction=direction, level=level, share_items=items)
    top = FEW_TOP if len(ranked.entries) < MANY else MANY_TOP
    sizes = {"items": known.items, "unseen_items": unseen} if known.items and unseen else {}
    stays = chances_of_top(ranked.scores, ranked.replicates, direction=direction, top=top, **sizes)
    rows += _ranked_rows(ranked, stands, stays, unknown, level)
    fields["resolution"] = None if np.isnan(stands.resolution) else stands.resolution
    if len(ranked.entries) > 1:  # one alone is ahead of nobody
        fields["first_tier"] = int((stands.tier == 1).sum())
    fields["top"] = top if len(ranked.entries) > top else 0
    return Findings(fields, rows, compare(board, ranked, stands, direction))


def _unranked_rows(known: Known, level: float) -> list[EntryUncertainty]:
    """Baselines, and rows that cannot be compared with the others, have intervals alone."""
    if not known.entries:
        return []
    ends = known.ends(*intervals(known.scores, known.replicates, level=level), level)
    return [
        EntryUncertainty(entry=entry, low=low, high=high)
        for entry, (low, high) in zip(known.entries, ends, strict=True)
    ]


def _ranked_rows(
    known: Known, stands: Standings, stays: NDArray[np.float64], unknown: int, level: float
) -> list[EntryUncertainty]:
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
            stays_top=None if np.isnan(stays[place]) else float(stays[place]),
        )
        for place, (entry, (low, high)) in enumerate(zip(known.entries, ends, strict=True))
    ]


def _replace(board: Leaderboard, findings: Findings) -> None:
    """Write the rows of entries that still show what was compared; the board's lock must be held."""
    EntryUncertainty.objects.filter(entry__leaderboard=board).delete()
    shown = dict(Entry.objects.filter(leaderboard=board).values_list("pk", "score"))
    current = [row for row in findings.rows if shown.get(row.entry_id) == row.entry.score_id]
    EntryUncertainty.objects.bulk_create(current, batch_size=BATCH)
    BoardComparison.objects.filter(leaderboard=board).delete()
    if findings.comparison is not None:
        findings.comparison.save(force_insert=True)


def row_tiers(board: Leaderboard) -> dict[int, int | None]:
    """The tier of each row, by the replicates that are known now; nothing is written."""
    return {row.entry_id: row.tier for row in _look(board).rows}


def compare(board: Leaderboard, ranked: Known, stands: Standings, direction: Direction) -> BoardComparison:
    """The best rows against each other, and all rows by their score."""
    low, high = np.quantile(ranked.scores, OUTSIDE)  # one hopeless score must not make all others look alike
    bars = min(MOST_BARS, max(5, round(len(ranked.scores) ** 0.5)))
    rank_change, by_noise = rank_changes(board, ranked, direction)
    counts, edges = np.histogram(np.clip(ranked.scores, low, high), bars, (low, high))
    return BoardComparison(
        leaderboard=board,
        entries=[ranked.entries[place].pk for place in stands.top],
        beats=np.nan_to_num(stands.beats, nan=0.5).round(4).tolist(),
        surely_beats=stands.surely_beats.tolist(),
        edges=edges.tolist(),
        counts=counts.tolist(),
        rank_change=rank_change,
        rank_change_by_noise=by_noise,
    )


def unseen_items(board: Leaderboard) -> int:
    """The number of items of the sealed board that this one will be compared with; 0 without one."""
    competition = board.phase.competition_id
    boards = Leaderboard.objects.filter(phase__competition=competition, is_hidden=False).select_related("phase")
    sealed = [other.pk for other in boards if not scores_are_public(other) and compared_board(other) == board]
    known = BoardUncertainty.objects.filter(leaderboard__in=sealed).aggregate(items=Max("items"))
    return known["items"] or 0


def rank_changes(board: Leaderboard, ranked: Known, direction: Direction) -> tuple[float | None, float | None]:
    """The mean change of rank at the reveal, and that which noise alone would make."""
    if board.phase.revealed_at is None or (before := compared_board(board)) is None:
        return None, None
    column = primary_column(list(before.columns.all()))
    if column is None:
        return None, None
    other, _, _ = known_rows(before, column)
    other = other.where(comparable(other.replicates))
    rows = {entry.team_id: row for row, entry in enumerate(other.entries)}
    pairs = [(row, rows[entry.team_id]) for row, entry in enumerate(ranked.entries) if entry.team_id in rows]
    if len(pairs) < 2:
        return None, None
    here, there = (np.array(places) for places in zip(*pairs, strict=True))
    # Both are in the boards' order.
    change = float(np.abs(np.argsort(np.argsort(here)) - np.argsort(np.argsort(there))).mean())
    by_noise = expected_rank_change(
        (other.scores[there], other.replicates[there]),
        (ranked.scores[here], ranked.replicates[here]),
        direction=direction,
    )
    return change, None if np.isnan(by_noise) else by_noise

"""The rows of a board that can be compared, with their replicates."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Entry, ScoreReplicates
from scoring.standings import wilson

MOST: Final = 10_000  # rows that are compared, the best ones
OURS: Final = "They could not be read by a fault of ours; the administrators find it in the log."
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
        chosen = np.array([entry.is_baseline == baselines for entry in self.entries], dtype=bool)
        entries = [entry for entry in self.entries if entry.is_baseline == baselines]
        return Known(entries, self.scores[chosen], self.replicates[chosen], self.share_items[chosen], self.items)

    def foreseen_resolution(self, level: float) -> float | None:
        """The smallest difference that is told apart where two rows' errors have nothing in common.

        Errors that are alike cancel: then it is less. None without a row.
        """
        if not self.entries:
            return None
        error = float(np.median(np.nanstd(self.replicates, axis=1)))
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
    count = min((len(values) for _, values, _ in usable), default=0)
    matrix = np.stack([values[:count] for _, values, _ in usable]) if usable else np.empty((0, 0), dtype=np.float32)
    scores = np.array([float(entry.values[column.key]) for entry, _, _ in usable])
    share_items = np.array([share_items for _, _, share_items in usable], dtype=np.int64)
    items = max((by_score[entry.score_id].items for entry, _, _ in usable), default=0)
    known = Known([entry for entry, _, _ in usable], scores, matrix, share_items, items)
    return known, unknown, remarks.most_common(1)[0][0] if remarks else ""

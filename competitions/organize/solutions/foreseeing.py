"""Changes of places by a new solution, foreseen from what stands on the boards now.

The tables that teams sent in are scored again here, where the site's own metrics are enough for that; nothing of it is kept.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.impact import rank_differences
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.sealing.reveal import team_ranks
from competitions.organize.models import NewSolution
from competitions.organize.solutions.changes import boards_scored_with
from competitions.organize.tables.program import work_on_tables
from competitions.resources.storage import local_copy
from competitions.submissions.states import Kind
from core.background.bounded import OverBounds
from core.background.rows import Claim

MOST_ROWS: Final = 200
FILES_AT_ONCE: Final = 20


def foresee_places(solution: NewSolution, reference: Path, claimed: Claim) -> Iterator[str]:
    """Sentences on the boards whose rows can be scored with it, none on sealed ones. Raises `Stopped`."""
    resource = solution.task.reference_data
    for board in boards_scored_with(resource) if resource is not None else []:
        column = primary_column(list(board.columns.all()))
        if column is None or column.kind != Column.Kind.SCORE or not _is_foreseeable(board):
            continue
        entries = list(Entry.objects.filter(leaderboard=board).select_related("score__submission__file"))
        values = _values(entries, column, reference, claimed)
        if values is not None:
            moved = " ".join(rank_differences(team_ranks(board), _ranks(entries, values, column)))
            yield f"“{board.title}”, by what stands on it now: {moved or 'no team changes its place.'}"


def _is_foreseeable(board: Leaderboard) -> bool:
    has_one_task = board.phase.tasks.count() == 1
    return has_one_task and scores_are_public(board) and 0 < board.entry_count <= MOST_ROWS


def _values(entries: Sequence[Entry], column: Column, reference: Path, claimed: Claim) -> list[float] | None:
    """The rows' new scores; None where one cannot be told."""
    if any(entry.score.submission.kind != Kind.PREDICTION for entry in entries):
        return None
    values: list[float] = []
    for start in range(0, len(entries), FILES_AT_ONCE):
        sent = [entry.score.submission for entry in entries[start : start + FILES_AT_ONCE]]
        with ExitStack() as opened:
            files = [
                [str(opened.enter_context(local_copy(submission.file))), submission.file_name] for submission in sent
            ]
            request = {"do": "foresee", "reference": str(reference), "files": files}
            try:
                answer = work_on_tables(request, is_wanted=claimed.renew, every_s=claimed.renew_every_s)
            except OverBounds:
                return None
        scores = answer.get("scores")
        if not scores or any(column.key not in each for each in scores):
            return None
        values += [each[column.key] for each in scores]
    return values


def _ranks(entries: Sequence[Entry], values: Sequence[float], column: Column) -> dict[int, int]:
    """Each team's best rank by these values."""
    ranked = sorted(
        (column.rank_value(value), entry.team_id)
        for entry, value in zip(entries, values, strict=True)
        if not entry.is_baseline
    )
    ranks: dict[int, int] = {}
    for value, team in ranked:
        ranks.setdefault(team, 1 + sum(other < value for other, _ in ranked))
    return ranks

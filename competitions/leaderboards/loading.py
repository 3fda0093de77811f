"""Fetching what pages and API show of boards in few queries, the same number for any number of rows."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import FilteredRelation, Model, Prefetch, Q, QuerySet, prefetch_related_objects

from competitions.catalog.models import Phase
from competitions.leaderboards.models import Leaderboard, Score
from competitions.leaderboards.rules import PICKED
from competitions.submissions.models import Submission


def _fill(owner: Model, name: str, rows: list[Any]) -> None:
    """Let `owner.<name>.all()` answer these rows without a query, as Django's own prefetching does."""
    queryset = getattr(owner, name).all()
    queryset._result_cache, queryset._prefetch_done = rows, True
    cache = owner.__dict__.setdefault("_prefetched_objects_cache", {})
    cache[name] = queryset


def _joined(boards: QuerySet[Leaderboard]) -> list[Leaderboard]:
    """Boards with their columns, both in one query: a row for each column, or one without where there is none."""
    rows = boards.annotate(joined=FilteredRelation("columns")).select_related("joined")  # type: ignore[misc]  # the annotation
    found: dict[int, Leaderboard] = {}
    columns: dict[int, list[Any]] = {}
    for row in rows.order_by("index", "pk", "joined__index", "joined__pk"):
        board = found.setdefault(row.pk, row)
        column = getattr(row, "joined", None)  # Django sets it only where there is one
        if column is not None:
            columns.setdefault(row.pk, []).append(column)
    for board in found.values():
        _fill(board, "columns", columns.get(board.pk, []))
    return list(found.values())


def attach_boards(phases: Sequence[Phase]) -> None:
    """Give each phase its boards, and these their columns; one query."""
    boards = _joined(Leaderboard.objects.filter(phase__in=phases))
    for phase in phases:
        mine = [board for board in boards if board.phase_id == phase.pk]
        for board in mine:
            board.phase = phase
        _fill(phase, "leaderboards", mine)


def phases_of(submissions: Iterable[Submission]) -> dict[int, Phase]:
    """The phases of these submissions by number, each once, with competition, boards and columns; one query.

    A phase without a board, which scores nothing, costs two more.
    """
    wanted = {submission.phase_id for submission in submissions}
    boards = _joined(Leaderboard.objects.filter(phase__in=wanted).select_related("phase__competition"))
    phases: dict[int, Phase] = {}
    for board in boards:
        board.phase = phases.setdefault(board.phase_id, board.phase)
    for phase in phases.values():
        _fill(phase, "leaderboards", [board for board in boards if board.phase_id == phase.pk])
    if missing := wanted - set(phases):
        bare = list(Phase.objects.filter(pk__in=missing).select_related("competition"))
        attach_boards(bare)
        phases |= {phase.pk: phase for phase in bare}
    return phases


def with_main_score(submissions: QuerySet[Submission], phases: Iterable[Phase]) -> QuerySet[Submission]:
    """Submissions joined with their score on their phase's main board, where the phases have no further boards."""
    main = [board.pk for phase in phases for board in phase.leaderboards.all()]
    joined = FilteredRelation("scores", condition=Q(scores__leaderboard__in=main or [0]))
    return submissions.annotate(main_score=joined).select_related("main_score__entry")  # type: ignore[misc]  # the annotation


def attach_standings(submissions: Sequence[Submission], phases: dict[int, Phase], *, is_joined: bool = False) -> None:
    """Give each submission its phase, its scores, and the boards its team chose it for; at most two queries.

    `is_joined`: they come from `with_main_score`, which saves one.
    """
    for submission in submissions:
        submission.phase = phases[submission.phase_id]
    if is_joined:
        for submission in submissions:
            score = getattr(submission, "main_score", None)
            _fill(submission, "scores", [score] if score is not None else [])
    else:
        prefetch_related_objects(submissions, Prefetch("scores", queryset=Score.objects.select_related("entry")))
    attach_picks(submissions, phases)


def attach_picks(submissions: Sequence[Submission], phases: dict[int, Phase]) -> None:
    """A query only where a board lets teams choose."""
    if any(board.rule in PICKED for phase in phases.values() for board in phase.leaderboards.all()):
        prefetch_related_objects(submissions, "picks")
    else:
        for submission in submissions:
            _fill(submission, "picks", [])


def several_boards(phases: Iterable[Phase]) -> bool:
    return any(len(phase.leaderboards.all()) > 1 for phase in phases)

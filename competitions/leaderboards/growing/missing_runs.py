"""Fills a board that grows: runs every algorithm that counts on every dataset, once each.

A cell is needed while its algorithm has a row on an open board of the phase and its dataset is on the board. Missing
cells are queued, needless ones taken out of the queue. Everything here may run twice, late, or on two machines at
once.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from competitions.catalog.models import Column, Leaderboard, Phase, Task
from competitions.disclosure.scores import boards_with_open_rows
from competitions.leaderboards.models import Cell, Entry
from competitions.leaderboards.ranking.entries import dataset_tasks, sort_cell
from competitions.leaderboards.ranking.relative_ranks import average_ranks_refresh
from competitions.leaderboards.ranking.values import task_key
from competitions.leaderboards.services import boards_locked, version_raise
from competitions.runs.models import FILLING_PRIORITY, Run
from competitions.runs.planning import runs_add
from competitions.runs.transitions import cancel_held, run_move, run_reopen
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import NOT_RUN, Kind, State
from competitions.teams.models import Team
from core.reconciler import run_guarded

log = structlog.get_logger(__name__)
BATCH: Final = 500  # cells of a phase in one round
ACTOR: Final = "filling"


def counting_submissions(phase: Phase) -> QuerySet[Submission]:
    """The algorithms that have a row on the phase's boards now.

    What is run is seen by its team, so boards whose rows would tell a score that the team may not see have no part in it.
    """
    rows = Entry.objects.filter(leaderboard__in=boards_with_open_rows(phase))
    return Submission.objects.filter(phase=phase, kind=Kind.CODE, pk__in=rows.values("score__submission"))


def boards_fill(*, now: datetime) -> int:
    """For the reconciler: queue missing cells and cancel those no longer needed; returns how many."""
    growing = Phase.objects.filter(pk__in=Dataset.objects.values("submission__phase"))
    return sum(run_guarded("boards_filled", partial(_phase_fill, phase), now=now) for phase in growing)


def _phase_fill(phase: Phase, *, now: datetime) -> int:
    tasks = {dataset.task_id for dataset in Dataset.objects.on_board(phase)}
    counting = set(counting_submissions(phase).values_list("pk", flat=True))
    runs = Run.objects.filter(submission__phase=phase, fills_board=True)
    given_up = _give_up(runs.exclude(Q(submission__in=counting) & Q(task__in=tasks)), now)
    current = runs.filter(submission__in=counting, task__in=tasks).exclude(state=State.CANCELLED)
    if current.count() == len(counting) * len(tasks):  # the common round: one number, however large the board
        return given_up
    existing = set(current.values_list("submission", "task"))
    missing: dict[int, list[int]] = {}
    for submission in sorted(counting):
        if absent := sorted(task for task in tasks if (submission, task) not in existing):
            missing[submission] = absent
    return given_up + _queue_some(missing, now)


def _queue_some(missing: dict[int, list[int]], now: datetime) -> int:
    queued = 0
    for submission, tasks in missing.items():
        if queued >= BATCH:
            break
        queued += cells_queue(submission_id=submission, tasks=tasks, now=now)
    return queued


@transaction.atomic
def cells_queue(*, submission_id: int, tasks: Iterable[int], now: datetime) -> int:
    """Queue an algorithm's runs on these datasets; returns how many.

    Existing runs stay, cancelled ones start again; nothing is queued for what no longer counts. Locks: team, then the
    runs that start again.
    """
    submission = Submission.objects.select_related("phase__competition__queue").get(pk=submission_id)
    Team.objects.select_for_update(no_key=True).get(pk=submission.team_id)
    submission.refresh_from_db(fields=["status", "disqualified_at", "team"])
    if submission.status != State.FINISHED or not submission.may_rank:
        return 0
    on_board = Task.objects.filter(
        pk__in=Dataset.objects.on_board(submission.phase).filter(task__in=list(tasks)).values("task")
    )
    cancelled = Run.objects.select_for_update(of=("self",)).filter(
        submission=submission, task__in=on_board, fills_board=True, state=State.CANCELLED
    )
    cancelled = cancelled.select_related("submission__phase", "task").order_by("pk")
    restarted = sum(run_reopen(run=run, actor=ACTOR, now=now, note="counts again") for run in cancelled)
    missing = on_board.exclude(runs__submission=submission)
    queued = runs_add(submission=submission, tasks=missing, priority=FILLING_PRIORITY, now=now, fills_board=True)
    return restarted + len(queued)


def cells_rerun(*, dataset: Dataset, actor: str, now: datetime) -> int:
    """Run again what failed on a dataset, and nothing else of its submissions; returns how many runs."""
    failed = Run.objects.filter(task=dataset.task_id, fills_board=True, state=State.FAILED)
    failed = failed.select_related("queue", "submission__phase", "task")
    restarted = [
        run
        for run in failed.order_by("pk")
        if run_reopen(run=run, actor=actor, now=now, note="run again on this dataset")
    ]
    return len(restarted)


def _give_up(runs: QuerySet[Run], now: datetime) -> int:
    """Cancel what waits, and ask the workers to stop what runs; what has ended stays as it is."""
    count = cancel_held(runs.filter(cancel_requested_at=None), now=now)
    for run in runs.filter(state=State.QUEUED)[:BATCH]:
        count += run_move(
            run,
            target=State.CANCELLED,
            actor=ACTOR,
            now=now,
            note="its algorithm no longer counts, or its dataset is no longer on the board",
        )
    return count


def datasets_begin_to_count(*, now: datetime) -> int:
    """For the reconciler: let datasets count once all rows from before they joined have run on them.

    Returns how many. Until then nobody falls behind through a slow cell or a fault that is not theirs. Later rows rank
    behind on a dataset until they have run on it.
    """
    waiting = Dataset.objects.filter(counts_from=None, withdrawn_at=None).select_related("submission__phase")
    return sum(run_guarded("datasets_count", partial(_begin_to_count, dataset), now=now) for dataset in waiting)


@transaction.atomic
def _begin_to_count(dataset: Dataset, *, now: datetime) -> int:
    if not _is_complete(dataset):
        return 0
    count = Dataset.objects.filter(pk=dataset.pk, counts_from=None).update(counts_from=now)
    _refresh(boards_locked(dataset.submission.phase_id))
    return count


def _is_complete(dataset: Dataset) -> bool:
    ended = Q(state=State.FINISHED) | Q(state=State.FAILED) & ~Q(reason__in=NOT_RUN)
    cell = Run.objects.filter(ended, submission=OuterRef("pk"), task=dataset.task_id)
    waited_for = counting_submissions(dataset.submission.phase).filter(created_at__lte=dataset.joined_at)
    others = waited_for.exclude(team=dataset.submission.team_id)
    return not others.exclude(Exists(cell)).exists()


def boards_follow_datasets(sender: type[Dataset], phase: Phase, **kwargs: object) -> None:
    """Receiver of `datasets_changed`: a dataset came onto the phase's boards or left them."""
    boards = boards_locked(phase.pk)
    tasks = dataset_tasks(phase)
    for board in boards:
        _make_sortable(board, tasks)
    _refresh(boards)


def _make_sortable(board: Leaderboard, tasks: list[int]) -> None:
    """Give every row a sort value on each of these datasets: behind all, where it has none yet."""
    scores = [column for column in board.columns.all() if column.kind == Column.Kind.SCORE]
    orders = {task_key(column.key, task): column.rank_value for column in scores for task in tasks}
    existing = set(Cell.objects.filter(leaderboard=board, key__in=orders).values_list("entry", "key"))
    Cell.objects.bulk_create(
        sort_cell(entry, key, order)
        for entry in board.entries.all()
        for key, order in orders.items()
        if (entry.pk, key) not in existing
    )


def _refresh(boards: list[Leaderboard]) -> None:
    for board in boards:
        average_ranks_refresh(board, list(board.columns.all()))
        version_raise(board)

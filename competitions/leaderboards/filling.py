"""Filling a board that grows: every algorithm that counts is run on every data set that joined, each pair once.

A cell is wanted while its algorithm has a row on an open board of the phase and its data set is on the board. What is wanted and
missing is queued, what is no longer wanted is taken out of the queue. Everything here may run twice, late, or on two machines at once.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from competitions.catalog.models import Phase, Task
from competitions.leaderboards.cells import cell_of
from competitions.leaderboards.datasets import dataset_tasks, shown_datasets
from competitions.leaderboards.models import Cell, Column, Entry, Leaderboard
from competitions.leaderboards.relative import average_ranks_refresh
from competitions.leaderboards.rules import TELLS_NO_SCORE
from competitions.leaderboards.services import boards_locked, version_raise
from competitions.leaderboards.values import task_key
from competitions.runs.models import FILLING_PRIORITY, Run
from competitions.runs.planning import runs_add
from competitions.runs.transitions import run_move, run_reopen
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import HELD, Kind, Reason, State
from competitions.teams.models import Team

log = structlog.get_logger(__name__)
# Behind every submission of every phase: filling takes what is left of a queue.
BATCH: Final = 500  # cells of a phase in one round
ACTOR: Final = "filling"


def counting_submissions(phase: Phase) -> QuerySet[Submission]:
    """The algorithms that have a row on the phase's boards now.

    What is run is seen by its team, so boards whose rows would tell a score that the team may not see have no part in it.
    """
    boards = phase.leaderboards.filter(visibility=Leaderboard.Visibility.AS_PHASE)
    telling_nothing = boards.filter(Q(is_hidden=False) | Q(rule__in=TELLS_NO_SCORE))
    rows = Entry.objects.filter(leaderboard__in=telling_nothing)
    return Submission.objects.filter(phase=phase, kind=Kind.CODE, pk__in=rows.values("score__submission"))


def boards_fill(*, now: datetime) -> int:
    """For the reconciler: queue the cells that are missing, and give up those that nobody wants any more; returns how many."""
    return sum(_phase_fill(phase, now) for phase in _growing_phases())


def _growing_phases() -> QuerySet[Phase]:
    return Phase.objects.filter(pk__in=Dataset.objects.values("submission__phase"))


def _phase_fill(phase: Phase, now: datetime) -> int:
    tasks = {one.task_id for one in shown_datasets(phase)}
    wanted = set(counting_submissions(phase).values_list("pk", flat=True))
    runs = Run.objects.filter(submission__phase=phase, fills_board=True)
    given_up = _give_up(runs.exclude(Q(submission__in=wanted) & Q(task__in=tasks)), now)
    kept = runs.filter(submission__in=wanted, task__in=tasks).exclude(state=State.CANCELLED)
    if kept.count() == len(wanted) * len(tasks):  # the common round: one number, however large the board
        return given_up
    there = set(kept.values_list("submission", "task"))
    missing: dict[int, list[int]] = {}
    for submission in sorted(wanted):
        if lacks := sorted(task for task in tasks if (submission, task) not in there):
            missing[submission] = lacks
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
    """Queue an algorithm's runs on these data sets; returns how many. Runs that are there stay, cancelled ones start again.

    Nothing is queued for what has stopped to count meanwhile. Locks: team, then the runs that start again.
    """
    submission = Submission.objects.select_related("phase__competition__queue").get(pk=submission_id)
    Team.objects.select_for_update().get(pk=submission.team_id)
    submission.refresh_from_db(fields=["status", "disqualified_at", "team"])
    if submission.status != State.FINISHED or not submission.may_rank:
        return 0
    wanted = Task.objects.filter(
        pk__in=Dataset.objects.on_board(submission.phase).filter(task__in=list(tasks)).values("task")
    )
    cancelled = Run.objects.select_for_update(of=("self",)).filter(
        submission=submission, task__in=wanted, fills_board=True, state=State.CANCELLED
    )
    reopened = cancelled.select_related("submission__phase", "task").order_by("pk")
    again = sum(run_reopen(run=run, actor=ACTOR, now=now, note="counts again") for run in reopened)
    missing = wanted.exclude(runs__submission=submission)
    made = runs_add(submission=submission, tasks=missing, priority=FILLING_PRIORITY, now=now, fills_board=True)
    return again + len(made)


def cells_rerun(*, dataset: Dataset, actor: str, now: datetime) -> int:
    """Run again what failed on a data set, and nothing else of its submissions; returns how many runs."""
    failed = Run.objects.filter(task=dataset.task_id, fills_board=True, state=State.FAILED)
    failed = failed.select_related("queue", "submission__phase", "task")
    again = [
        run
        for run in failed.order_by("pk")
        if run_reopen(run=run, actor=actor, now=now, note="run again on this data set")
    ]
    return len(again)


def _give_up(runs: QuerySet[Run], now: datetime) -> int:
    """Cancel what waits, and ask the workers to stop what runs; what has ended stays as it is."""
    count = Run.objects.filter(pk__in=runs.values("pk"), state__in=HELD, cancel_requested_at=None).update(
        cancel_requested_at=now
    )
    for run in runs.filter(state=State.QUEUED)[:BATCH]:
        count += run_move(
            run_id=run.pk, attempt=run.attempt, source=State.QUEUED, target=State.CANCELLED, actor=ACTOR, now=now,
            note="its algorithm no longer counts, or its data set is no longer on the board",
        )  # fmt: skip
    return count


def datasets_begin_to_count(*, now: datetime) -> int:
    """For the reconciler: let data sets decide ranks on which all rows of when they joined have been run; returns how many.

    Until then nobody is behind for having a slow cell, or one that failed by the platform's fault. Whoever comes later is
    behind on a data set until it has been run there.
    """
    begun = 0
    for dataset in Dataset.objects.filter(counts_from=None, withdrawn_at=None).select_related("submission__phase"):
        if not _is_complete(dataset):
            continue
        phase = dataset.submission.phase
        with transaction.atomic():
            begun += Dataset.objects.filter(pk=dataset.pk, counts_from=None).update(counts_from=now)
            _refresh(boards_locked(phase.pk))
    return begun


def _is_complete(dataset: Dataset) -> bool:
    ended = Q(state=State.FINISHED) | Q(state=State.FAILED) & ~Q(reason=Reason.INFRASTRUCTURE)
    cell = Run.objects.filter(ended, submission=OuterRef("pk"), task=dataset.task_id)
    waited_for = counting_submissions(dataset.submission.phase).filter(created_at__lte=dataset.joined_at)
    others = waited_for.exclude(team=dataset.submission.team_id)
    return not others.exclude(Exists(cell)).exists()


def boards_follow_datasets(sender: type[Dataset], phase: Phase, **kwargs: object) -> None:
    """Receiver of `datasets_changed`: a data set came onto the phase's boards or left them."""
    boards = boards_locked(phase.pk)
    tasks = dataset_tasks(phase)
    for board in boards:
        _make_sortable(board, tasks)
    _refresh(boards)


def _make_sortable(board: Leaderboard, tasks: list[int]) -> None:
    """Give every row a sort value on each of these data sets: behind all, where it has none yet."""
    scores = [column for column in board.columns.all() if column.kind == Column.Kind.SCORE]
    orders = {task_key(column.key, task): column.rank_value for column in scores for task in tasks}
    there = set(Cell.objects.filter(leaderboard=board, key__in=orders).values_list("entry", "key"))
    Cell.objects.bulk_create(
        cell_of(entry, key, order)
        for entry in board.entries.all()
        for key, order in orders.items()
        if (entry.pk, key) not in there
    )


def _refresh(boards: list[Leaderboard]) -> None:
    for board in boards:
        average_ranks_refresh(board, list(board.columns.all()))
        version_raise(board)

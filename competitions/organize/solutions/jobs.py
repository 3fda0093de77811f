"""Background work on a new solution: compare it; once it is in force, score again; then say who moved."""

import tempfile
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import structlog
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from competitions.catalog.models import Phase, Task
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.impact import rank_differences
from competitions.leaderboards.sealing.reveal import team_ranks
from competitions.organize.models import NewSolution
from competitions.organize.solutions.changes import SOLUTION_JOB, boards_scored_with
from competitions.organize.solutions.foreseeing import foresee_places
from competitions.organize.tables.program import work_on_tables
from competitions.resources.storage import local_copy, store_path
from competitions.runs.models import Run
from competitions.runs.records.outdated import outdated_submissions
from competitions.runs.services import submission_rerun
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL
from core.background import jobs
from core.background.bounded import OverBounds, Stopped
from core.background.rows import Claim, claim
from core.refusals import Refusal

log = structlog.get_logger(__name__)
OURS: Final = "It could not be read by a fault of ours; the administrators find it in the log. Upload it again."
NOT_ALL: Final = (
    "Not all could be queued by a fault of ours, which the administrators find in the log. Find them under Data."
)
State = NewSolution.State


def waiting_solutions() -> QuerySet[NewSolution]:
    """New solutions that somebody must compare, or have scored with."""
    return NewSolution.objects.filter(state__in=[State.READING, State.CONFIRMED])


def solution_perform(pk: int) -> None:
    """Do the next work on one new solution; do nothing if nobody asks for it any more."""
    claimed = claim(waiting_solutions(), pk)
    if claimed is None:
        return
    solution = NewSolution.objects.select_related("task__competition", "file", "compared_with").get(pk=pk)
    work = _score_again if solution.state == State.CONFIRMED else _compare
    try:
        with claimed.kept():
            work(solution, claimed)
    except Stopped:
        log.info("solution_comparison_stopped", solution=pk)


SOLUTION: Final = jobs.Job(
    SOLUTION_JOB, waiting=waiting_solutions, perform=solution_perform, asked_at="asked_at", queue=jobs.Queue.LONG
)


def _compare(solution: NewSolution, claimed: Claim) -> None:
    """Store what differs, and the reference data with the new solution; or the fault."""
    if solution.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(state=State.FAILED, fault=OURS)
        return
    with tempfile.TemporaryDirectory(prefix="solution-") as folder:
        target = Path(folder) / "reference.zip"
        answer = _answer(solution, target, claimed)
        if answer["fault"]:
            claimed.release(state=State.FAILED, fault=answer["fault"])
            return
        facts = answer["facts"] | {"places": list(foresee_places(solution, target, claimed))}
        claimed.release(state=State.READY, facts=facts, reference=store_path(target))


def _answer(solution: NewSolution, target: Path, claimed: Claim) -> dict[str, Any]:
    with ExitStack() as opened:
        sample = _sample(solution.task)
        request = {
            "do": "compare",
            "reference": str(opened.enter_context(local_copy(solution.compared_with))),
            "path": str(opened.enter_context(local_copy(solution.file))),
            "file_name": solution.file_name,
            "sample": [str(opened.enter_context(local_copy(sample.file))), sample.file_name] if sample else None,
            "target": str(target),
        }
        try:
            return work_on_tables(request, is_wanted=claimed.renew, every_s=claimed.renew_every_s)
        except OverBounds as error:
            return {"fault": f"It took more {error.what} to compare than this site gives. Replace the zip instead."}


def _sample(task: Task) -> Any:
    """The sample submission of a phase that the task scores, if there is one."""
    phases = Phase.objects.filter(tasks=task, sample_submission__isnull=False)
    phase = phases.select_related("sample_submission__file").order_by("index", "pk").first()
    return phase.sample_submission if phase is not None else None


def _score_again(solution: NewSolution, claimed: Claim) -> None:
    """Queue every submission that was scored with former data.

    Those that wait are left out, so it may run twice.
    """
    if solution.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(state=State.RESCORING, outcome=[NOT_ALL])
        return
    outdated, refused = sorted(outdated_submissions(_runs(solution))), 0
    for submission in Submission.objects.filter(pk__in=outdated).order_by("pk").iterator():
        try:
            submission_rerun(submission=submission, actor=f"organizer:{solution.by}", now=timezone.now())
        except Refusal as refusal:
            refused += 1
            log.info("submission_not_scored_again", submission=submission.pk, code=refusal.code)
    outcome = [f"{refused} of them could not be queued; find them under Data."] if refused else []
    claimed.release(state=State.RESCORING, outcome=outcome)


def _runs(solution: NewSolution) -> QuerySet[Run]:
    """Runs on every task that has these reference data."""
    return Run.objects.filter(
        task__in=Task.objects.filter(reference_data=solution.task.reference_data, competition=solution.task.competition)
    )


def finish_rescoring(*, now: datetime) -> int:
    """The reconciler's step: say who moved where all that was sent before is scored; returns for how many."""
    rows = NewSolution.objects.filter(state=State.RESCORING).select_related("task__competition", "task__reference_data")
    return sum(_finish(solution) for solution in rows)


def _finish(solution: NewSolution) -> int:
    if _runs(solution).filter(submission__created_at__lte=solution.asked_at).exclude(state__in=FINAL).exists():
        return 0
    outcome = [*solution.outcome, *_who_moved(solution)]
    still = NewSolution.objects.filter(pk=solution.pk, state=State.RESCORING)
    return still.update(state=State.FINISHED, outcome=outcome)


def _who_moved(solution: NewSolution) -> list[str]:
    """Sentences by board; nothing is told of a sealed one."""
    assert solution.task.reference_data is not None, "it is in force"
    sentences = []
    for board in boards_scored_with(solution.task.reference_data):
        before = solution.ranks.get(str(board.pk))
        if not scores_are_public(board):
            sentences.append(f"“{board.title}” is sealed, so what changes on it is not told.")
        elif before is None:
            sentences.append(f"“{board.title}” has too many rows to compare, or was sealed before.")
        else:
            moved = rank_differences({int(team): rank for team, rank in before.items()}, team_ranks(board))
            sentences.append(f"“{board.title}”: {' '.join(moved) or 'no team changed its place.'}")
    return sentences

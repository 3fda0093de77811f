"""Background work on a new solution: compare it with the one in force."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import structlog
from django.conf import settings
from django.db.models import QuerySet

from competitions.catalog.models import Phase, Task
from competitions.organize.models import NewSolution
from competitions.organize.solutions.changes import SOLUTION_JOB
from competitions.organize.tables.program import work_on_tables
from competitions.resources.storage import local_copy, store_path
from core.background import jobs
from core.background.bounded import OverBounds, Stopped
from core.background.rows import Claim, claims

log = structlog.get_logger(__name__)
OURS: Final = "It could not be read by a fault of ours; the administrators find it in the log. Upload it again."
State = NewSolution.State


def waiting_solutions() -> QuerySet[NewSolution]:
    """New solutions that somebody must compare."""
    return NewSolution.objects.filter(state=State.READING)


@claims(waiting_solutions, "task__competition", "file", "compared_with")
def solution_perform(solution: NewSolution, claimed: Claim) -> None:
    """Compare one new solution; do nothing if nobody asks for it any more."""
    try:
        with claimed.kept():
            _compare(solution, claimed)
    except Stopped:
        log.info("solution_comparison_stopped", solution=solution.pk)


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
        claimed.release(state=State.READY, facts=answer["facts"], reference=store_path(target))


def _answer(solution: NewSolution, target: Path, claimed: Claim) -> dict[str, object]:
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

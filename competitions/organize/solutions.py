"""New solutions of table competitions: compared in the background, confirmed, and proposed."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from competitions.catalog.models import Competition, Phase, Proposal, Task
from competitions.leaderboards.rescoring.services import proposal_begin, proposal_put_file
from competitions.organize.answers import SolutionFacts
from competitions.organize.editing.data import Slot, count_scored, other_places, put_version, waiting_runs
from competitions.organize.models import NewSolution
from competitions.organize.refusals import FILE_CHANGED_ELSEWHERE
from competitions.organize.steps.step import TABLES, require_ending
from competitions.organize.tables.program import work_on_tables
from competitions.resources.models import Resource, StoredFile, Upload
from competitions.resources.orphans import mark_unneeded
from competitions.resources.storage import local_copy, store_path
from competitions.resources.versions import check_upload, require_room
from core.background import jobs
from core.background.bounded import OverBounds, Stopped
from core.background.rows import Claim, claims
from core.confirmations import state_digest
from files.text import quantity

log = structlog.get_logger(__name__)
SOLUTION_JOB: Final = "new-solution"
FILE_NAME: Final = "reference_data.zip"
REASON: Final = "The solution had faults, which are corrected."  # public once it is applied; organizers say more there
State = NewSolution.State


def solution_slot(task: Task) -> Slot:
    """The place of the task's solution."""
    return Slot(task, "reference_data")


@transaction.atomic
def solution_upload(*, task: Task, upload: Upload, by: User, now: datetime) -> NewSolution:
    """Have an upload compared with the solution in force, in place of one that nobody confirmed.

    Raises `UploadIncomplete`, `StorageQuotaUsed`, `InvalidFile` or `WRONG_KIND_OF_FILE`.
    """
    locked = Task.objects.select_for_update(of=("self",), no_key=True).get(pk=task.pk)
    stored = check_upload(Resource.Kind.SOLUTION, upload, by)
    require_ending(upload.file_name, TABLES)
    solution_leave(task=locked, now=now)
    before = locked.reference_data
    assert before is not None, "its page is shown for tasks with reference data alone"
    solution = NewSolution.objects.create(
        task=locked, by=by, file=stored, file_name=upload.file_name, compared_with=before.file, asked_at=now
    )
    jobs.send_after_commit(SOLUTION_JOB, solution.pk)
    return solution


@transaction.atomic
def solution_leave(*, task: Task, now: datetime) -> None:
    """Forget the task's last new solution."""
    solution = NewSolution.objects.select_for_update(of=("self",)).filter(task=task).first()
    if solution is None:
        return
    files = [solution.file_id, solution.reference_id, solution.compared_with_id]
    solution.delete()
    mark_unneeded(StoredFile.objects.filter(pk__in=files), now=now)


def solution_consequences(solution: NewSolution) -> list[str]:
    """Sentences on what the new solution changes, and on what follows; empty before it was compared."""
    return list(_consequences(solution)) if solution.facts else []


def _consequences(solution: NewSolution) -> Iterator[str]:
    facts, task = cast("SolutionFacts", solution.facts), solution.task
    yield from _differences(facts)
    assert task.competition is not None, "only tasks of competitions have new solutions"
    yield from other_places(solution_slot(task), task.competition)
    if count_scored(task):
        yield "It begins a proposal: everything is scored by it aside, and you see who would change places before it counts."
        return
    yield from waiting_runs(task)


def _differences(facts: SolutionFacts) -> Iterator[str]:
    rows = facts["rows"]
    if facts["differ"]:
        ids = ", ".join(facts["ids"]) + (", …" if facts["differ"] > len(facts["ids"]) else "")
        by_column = ", ".join(f"{name} in {count:,}" for name, count in list(facts["columns"].items())[:8])
        yield f"{quantity(facts['differ'], 'row differs', 'rows differ')} of {rows:,} ({by_column}): the ids {ids}."
    if facts["moved"]:
        yield f"{quantity(facts['moved'], 'row changes its', 'rows change their')} part, public or private."
    if facts["left_out"]:
        left_out = quantity(facts["left_out"], "row is", "rows are")
        yield f"{left_out} not in the new file. Teams still send them, and they no longer count."


def solution_confirmation(solution: NewSolution) -> str:
    """The confirmation of these consequences, for the reference data that are there now."""
    return state_digest([solution.task.reference_data, solution.reference_id, *solution_consequences(solution)])


@transaction.atomic
def solution_use(*, competition: Competition, task: Task, by: User, confirmed: str, now: datetime) -> Proposal | None:
    """Propose the new solution; where nothing was scored yet, put it in force and return None.

    Raises `FILE_CHANGED_ELSEWHERE` where something else is there than when it was confirmed, or `StorageQuotaUsed`.
    """
    locked = Task.objects.select_for_update(of=("self",), no_key=True).get(pk=task.pk)
    slot = solution_slot(locked)
    rows = NewSolution.objects.select_for_update(of=("self",)).select_related(
        "task__competition", "task__reference_data", "reference", "compared_with"
    )
    solution = rows.filter(task=task.pk, state=State.READY).first()
    before = slot.resource
    if solution is None or solution.reference is None or before is None or solution.compared_with != before.file:
        raise FILE_CHANGED_ELSEWHERE()
    if confirmed != solution_confirmation(solution):
        raise FILE_CHANGED_ELSEWHERE()
    require_room(by, solution.reference.size_bytes)
    reference, file_name = solution.reference, before.file_name or FILE_NAME
    solution_leave(task=task, now=now)
    if not count_scored(task):
        put_version(slot, competition, file=reference, file_name=file_name, by=by)
        return None
    title = f"Corrected solution of {task.name}"[:200]
    proposal = proposal_begin(competition=competition, title=title, reason=REASON, by=by, now=now)
    proposal_put_file(proposal=proposal, task=locked, slot=slot.name, file=reference, file_name=file_name, by=by)
    return proposal


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
        claimed.release(state=State.FAILED, fault=jobs.OUR_ERROR)
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
            return {"fault": f"It took more {error.what} to compare than this site allows. Replace the zip instead."}


def _sample(task: Task) -> Any:
    """The sample submission of a phase that the task scores, if there is one."""
    phases = Phase.objects.filter(tasks=task, sample_submission__isnull=False)
    phase = phases.select_related("sample_submission__file").order_by("index", "pk").first()
    return phase.sample_submission if phase is not None else None

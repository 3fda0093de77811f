"""Cancelling and re-running the runs of a submission, and running a winner's code again."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Phase, Task
from competitions.environments.choice import NO_ENVIRONMENT, Environment
from competitions.resources.models import StoredFile
from competitions.runs import refusals
from competitions.runs.models import Run
from competitions.runs.planning import request_check, runs_queue
from competitions.runs.transitions import run_move, run_reopen
from competitions.submissions.models import FileCheck, Submission
from competitions.submissions.notices import rescoring_notify
from competitions.submissions.refusals import NOTHING_TO_RUN
from competitions.submissions.states import HELD, Kind, State
from competitions.teams.models import Team


@transaction.atomic
def verification_create(
    *,
    phase: Phase,
    team: Team,
    by: User,
    file: StoredFile,
    file_name: str,
    now: datetime,
    seed: int = 0,
    checks: Collection[Task] = (),
    environment: Environment = NO_ENVIRONMENT,
) -> Submission:
    """Run a winner's code again for an organizer, on the phase's tasks or on these `checks`.

    It has the phase's budget, costs no quota, stands on no board and has no deadline. The code is told the `seed` and
    gets the team's `environment`. Raises `NOTHING_TO_RUN`.
    """
    tasks = checks or list(phase.tasks.all())
    if not tasks:
        raise NOTHING_TO_RUN(phase=phase)
    submission = Submission.objects.create(
        phase=phase, team=team, submitted_by=by, kind=Kind.CODE, file=file, file_name=file_name, received_at=now, created_at=now,
        description="Verification run", status=State.CHECKING, is_charged=False, is_verification=True, is_check=bool(checks), seed=seed,
        weights=environment.weights, image=environment.image, image_reference=environment.image_reference,
    )  # fmt: skip
    runs_queue(submission=submission, tasks=tasks, now=now)
    return submission


@transaction.atomic
def submission_cancel(*, submission: Submission, actor: str, now: datetime) -> None:
    """Cancel at once what waits; ask the worker to stop what runs. Raises `ALREADY_ENDED`.

    What fills a growing board goes on: nobody picks the datasets that an algorithm is compared on.
    """
    runs = [run for run in locked_runs(submission) if not run.fills_board]
    if any(run.is_smoke for run in runs):  # whose end makes others, which a lock that waited for it has not seen
        runs = [run for run in locked_runs(submission) if not run.fills_board]
    if all(run.is_final for run in runs):
        raise refusals.ALREADY_ENDED()
    for run in runs:
        if run.is_final:
            continue
        if run.state in HELD:
            Run.objects.filter(pk=run.pk, state__in=HELD).update(cancel_requested_at=now)
        else:
            run_move(
                run_id=run.pk,
                attempt=run.attempt,
                source=State(run.state),
                target=State.CANCELLED,
                actor=actor,
                now=now,
            )
    waiting = FileCheck.objects.filter(submission=submission, outcome=FileCheck.Status.WAITING)
    # A process that reads the file stops when it next renews its claim.
    waiting.update(outcome=FileCheck.Status.CANCELLED, finished_at=now, claimed_until=None)


@transaction.atomic
def submission_rerun(*, submission: Submission, actor: str, now: datetime) -> int:
    """Run each task of an ended submission again as a new attempt; returns the number of runs.

    Raises `StillRunning`.
    """
    runs = locked_runs(submission)
    if not all(run.is_final for run in runs):
        raise refusals.StillRunning
    runs = [run for run in runs if not run.is_smoke] or runs  # what passed its smoke run has no need of another
    count = sum(run_reopen(run=run, actor=actor, now=now, note="re-run") for run in runs)
    if submission.checked_at is None:
        request_check(submission, now)
    rescoring_notify(submission=submission, now=now)
    return count


def locked_runs(submission: Submission) -> list[Run]:
    """Lock and return the submission's runs; runs are always locked before their submission."""
    rows = (
        Run.objects.select_for_update(of=("self",))
        .select_related("queue", "submission__phase", "task")
        .filter(submission=submission)
    )
    return list(rows.order_by("pk"))

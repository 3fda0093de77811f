"""The runs of a submission, made with a plan of what each will do: its stages, stored with the run.

The plan names files by what they are. Which version of each is used, and image, limits and network, are decided when the run is
handed out. Where an organizer has changed meanwhile which programs and data there are, the plan is made anew at that moment.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final

from competitions.catalog.models import Phase, Task
from competitions.runs.models import Run
from competitions.runs.queue.ranking import enter_queue
from competitions.submissions.models import FileCheck, Submission
from competitions.submissions.states import Kind, State
from core.background.jobs import send_after_commit
from workers.protocol.plan import Plan, StagePlan
from workers.protocol.planning import RunFacts, plan_stages

CHECK_JOB: Final = "file-check"


def queue_accepted(
    sender: type[Submission], submission: Submission, tasks: Collection[Task], now: datetime, **kwargs: Any
) -> None:
    """Receiver of `submission_accepted`: queue its runs, or its smoke run alone, in the same transaction.

    Organizers choose the tasks of a re-run, so it has no smoke run.
    """
    has_smoke_run = submission.kind == Kind.CODE and not submission.is_task_rerun
    smoke_task = submission.phase.smoke_task if has_smoke_run else None
    first = tasks if smoke_task is None else [smoke_task]
    runs_queue(submission=submission, tasks=first, now=now, is_smoke=smoke_task is not None)


def runs_queue(*, submission: Submission, tasks: Collection[Task], now: datetime, is_smoke: bool = False) -> None:
    """Make a new submission's runs, one for each task.

    They are queued at once if the file has passed a check before, else the file is checked first.
    """
    state = State.QUEUED if submission.checked_at else State.CHECKING
    priority = submission.phase.priority
    runs_add(submission=submission, tasks=tasks, priority=priority, now=now, state=state, is_smoke=is_smoke)
    if state == State.CHECKING:
        request_check(submission, now)


def waits_for_organizers(submission: Submission) -> bool:
    """True for what a team sent in, where the organizers start submissions by hand."""
    is_copy = submission.rerun_of_id is not None or submission.migrated_from_id is not None
    is_organizers_own = submission.is_verification or submission.solution_id is not None
    return not (is_copy or is_organizers_own or submission.phase.competition.auto_run_submissions)


def request_check(submission: Submission, now: datetime) -> None:
    """Have the submission's file checked by a background process, after the commit."""
    waiting = {
        "requested_at": now,
        "finished_at": None,
        "outcome": FileCheck.Status.WAITING,
        "attempts": 0,
        "claim_id": None,
        "claimed_until": None,
    }
    check, _ = FileCheck.objects.update_or_create(submission=submission, defaults=waiting)
    send_after_commit(CHECK_JOB, check.pk)


def plan_for(submission: Submission, task: Task) -> Plan:
    """The plan of a submission's run on a task, as they are now."""
    phase: Phase = submission.phase
    return plan_stages(
        RunFacts(
            kind=Kind(submission.kind),
            program=submission.program,
            on_codabench=phase.as_on_codabench,
            is_single_file=phase.prediction_format is not None,
            has_ingestion=task.ingestion_program_id is not None,
            beside_scoring=task.runs_beside_scoring,
            has_input_data=task.input_data_id is not None,
            has_reference_data=task.reference_data_id is not None,
            has_weights=submission.weights_id is not None,
            has_requirements=submission.requirements_id is not None,
        )
    )


def stored_plan(plan: Plan) -> dict[str, object]:
    """The plan as a run stores it."""
    return plan.model_dump(mode="json", exclude_defaults=True)


def planned_fields(submission: Submission, task: Task) -> dict[str, Any]:
    """The fields of a run that is queued now."""
    plan = plan_for(submission, task)
    gpus = submission.phase.gpus if submission.kind != Kind.PREDICTION else 0
    return {"plan": stored_plan(plan), "needs": plan.needs, "gpus": gpus}


def plan_anew(run: Run) -> None:
    """Make the plan of a waiting run again where it no longer fits its submission, phase and task."""
    plan = plan_for(run.submission, run.task)
    stored, needs = stored_plan(plan), (plan if run.ingested_attempt is None else plan.after_ingestion()).needs
    if (run.plan, run.needs) != (stored, needs):
        run.plan, run.needs = stored, needs
        Run.objects.filter(pk=run.pk).update(plan=stored, needs=needs)


def stages_left(run: Run) -> tuple[StagePlan, ...]:
    """The stages of a run's stored plan that are still to be done."""
    plan = Plan.model_validate(run.plan)
    return plan.stages if run.ingested_attempt is None else plan.after_ingestion().stages


def runs_add(
    *,
    submission: Submission,
    tasks: Iterable[Task],
    priority: int,
    now: datetime,
    state: State = State.QUEUED,
    fills_board: bool = False,
    is_smoke: bool = False,
) -> list[Run]:
    """Make a submission's runs, one for each task.

    Those that wait get a turn, and workers are woken after the commit. What is checked first is planned by its check, which finds out
    what the file is.
    """
    runs = [
        Run(
            submission=submission,
            task=task,
            team_id=submission.team_id,
            queue=submission.phase.competition.queue,
            priority=priority,
            queued_at=now,
            not_before=now,
            state=state,
            fills_board=fills_board,
            is_smoke=is_smoke,
            **(planned_fields(submission, task) if state != State.CHECKING else {}),
        )
        for task in tasks
    ]
    Run.objects.bulk_create(runs)
    if state == State.QUEUED:
        enter_queue(Run.objects.filter(pk__in=[run.pk for run in runs]), now=now)
    return runs

"""What a run will do: its stages, planned when it is queued and stored with it.

The plan names files by what they are. Which version of each is used, and image, limits and network, are decided when the run is
handed out. Where an organizer has changed meanwhile which programs and data there are, the plan is made anew at that moment.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from competitions.catalog.models import Phase, Task
from competitions.runs.models import Run
from competitions.runs.queue.ranking import enter_queue
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from workers.protocol.plan import Plan, StagePlan
from workers.protocol.planning import RunFacts, plan_stages


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


def stored_plan(plan: Plan) -> dict[str, Any]:
    """The plan as a run stores it."""
    return plan.model_dump(mode="json", exclude_defaults=True)


def plan_anew(run: Run) -> None:
    """Make the plan of a waiting run again where it no longer fits its submission, phase and task."""
    plan = plan_for(run.submission, run.task)
    stored, needs = stored_plan(plan), (plan if run.ingested_attempt is None else plan.after_ingestion()).needs
    if (run.plan, run.needs) != (stored, needs):
        run.plan, run.needs = stored, needs
        Run.objects.filter(pk=run.pk).update(plan=stored, needs=needs)


def stages_left(run: Run) -> tuple[StagePlan, ...]:
    """What is left to do of a run, by its stored plan."""
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
    """Plan a submission's runs, one for each task; those that wait have a turn, and workers are woken after the commit."""
    phase = submission.phase
    runs = []
    for task in tasks:
        plan = plan_for(submission, task)
        runs.append(
            Run(
                submission=submission,
                task=task,
                team_id=submission.team_id,
                queue=phase.competition.queue,
                priority=priority,
                gpus=phase.gpus if submission.kind != Kind.PREDICTION else 0,
                queued_at=now,
                not_before=now,
                state=state,
                plan=stored_plan(plan),
                needs=plan.needs,
                fills_board=fills_board,
                is_smoke=is_smoke,
            )
        )
    Run.objects.bulk_create(runs)
    enter_queue(Run.objects.filter(pk__in=[run.pk for run in runs]), now=now)
    return runs

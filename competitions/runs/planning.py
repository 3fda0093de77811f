"""What a run will do: its stages, planned when it is queued and stored with it.

The plan names files by what they are. Which version of each is used, and image, limits and network, are decided when the run is
handed out. Where an organizer has changed meanwhile which programs and data there are, the plan is made anew at that moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from competitions.catalog.models import Phase, Task
from competitions.runs.models import Run
from competitions.runs.queue.ranking import enter_queue
from competitions.submissions.models import Program, Submission
from competitions.submissions.states import Kind, State
from workers.protocol.plan import FileRole, Plan, PlannedFile, PlannedMount, StagePlan
from workers.protocol.stages import StageName, StageOutput, Step

PROGRAM: Final = "/app/program"
SUBMITTED: Final = "/app/ingested_program"
RESULT: Final = "/app/input/res"


@dataclass(frozen=True)
class RunFacts:
    """All that decides a plan."""

    kind: Kind
    program: str
    on_codabench: bool
    is_single_file: bool
    has_ingestion: bool
    beside_scoring: bool
    has_input_data: bool
    has_reference_data: bool

    @property
    def runs_code(self) -> bool:
        """What was sent in is run, by itself or by the ingestion program."""
        return self.kind != Kind.PREDICTION

    @property
    def has_own_command(self) -> bool:
        """The submission is a program with a command of its own; on Codabench's rules only where its metadata file says one."""
        says_command = self.on_codabench and self.program == Program.COMMAND
        return self.kind == Kind.CODE and (says_command or not (self.has_ingestion or self.on_codabench))

    @property
    def is_copied_to_output(self) -> bool:
        """On Codabench's rules a submission without a metadata file is copied into the output."""
        return self.on_codabench and self.kind == Kind.CODE and self.program == Program.NONE

    @property
    def input_data(self) -> tuple[PlannedFile, ...]:
        """The input data as a mount, where there are any."""
        return (PlannedFile(target="/app/input_data", file=FileRole.INPUT_DATA),) if self.has_input_data else ()


def plan_stages(facts: RunFacts) -> Plan:
    """The stages of a run: the submission by its own command, the ingestion program, or both at once; then scoring, with the
    ingestion program beside it where the task says so."""
    first = _first_step(facts)
    result: PlannedMount = PlannedFile(target=RESULT, file=FileRole.SUBMISSION, unpack=not facts.is_single_file)
    if first:
        by_itself = first[0].name == StageName.SUBMISSION
        result = StageOutput(target=RESULT, stage_output=StageName.SUBMISSION if by_itself else StageName.INGESTION)
    beside = [_beside_scoring(facts, result)] if facts.runs_code and facts.beside_scoring else []
    return Plan(stages=(*first, *beside, _scoring(facts, result)))


def _first_step(facts: RunFacts) -> list[StagePlan]:
    stages = []
    if facts.has_own_command:
        stages.append(_submission(facts))
    if facts.runs_code and facts.has_ingestion and not facts.beside_scoring:
        stages.append(_ingestion(facts))
    return stages


def _submission(facts: RunFacts) -> StagePlan:
    """A submission by its own command. Without an ingestion program beside it, how it ends is the verdict."""
    return StagePlan(
        name=StageName.SUBMISSION if facts.has_ingestion else StageName.INGESTION, step=Step.FIRST,
        mounts=(PlannedFile(target=PROGRAM, file=FileRole.SUBMISSION), *facts.input_data),
        writable=facts.on_codabench, tolerant=facts.on_codabench and facts.has_ingestion,
    )  # fmt: skip


def _ingestion(facts: RunFacts) -> StagePlan:
    """The organizer's ingestion program, which sees the submission and the input data, never reference data."""
    return StagePlan(
        name=StageName.INGESTION, step=Step.FIRST,
        mounts=(
            PlannedFile(target=PROGRAM, file=FileRole.INGESTION_PROGRAM),
            PlannedFile(target=SUBMITTED, file=FileRole.SUBMISSION), *facts.input_data,
        ),
        writable=facts.on_codabench, tolerant=facts.on_codabench, prefill=SUBMITTED if facts.is_copied_to_output else None,
    )  # fmt: skip


def _beside_scoring(facts: RunFacts, result: PlannedMount) -> StagePlan:
    program = PlannedFile(target=PROGRAM, file=FileRole.INGESTION_PROGRAM)
    submitted = result.model_copy(update={"target": SUBMITTED})
    return StagePlan(
        name=StageName.INGESTION, step=Step.LAST, mounts=(program, *facts.input_data, submitted, result),
        writable=facts.on_codabench, tolerant=facts.on_codabench, shared=True,
    )  # fmt: skip


def _scoring(facts: RunFacts, result: PlannedMount) -> StagePlan:
    """The stage that sees the labels: it runs the organizer's program alone, on data."""
    labels = PlannedFile(target="/app/input/ref", file=FileRole.REFERENCE_DATA, secret=True)
    mounts = [
        PlannedFile(target=PROGRAM, file=FileRole.SCORING_PROGRAM),
        *([labels] if facts.has_reference_data else []),
    ]
    data = facts.input_data if facts.beside_scoring else ()
    return StagePlan(
        name=StageName.SCORING, step=Step.LAST, mounts=(*mounts, *data, result),
        writable=facts.on_codabench, shared=facts.on_codabench or facts.beside_scoring,
    )  # fmt: skip


def plan_for(submission: Submission, task: Task) -> Plan:
    """The plan of a submission's run on a task, as they are now."""
    phase: Phase = submission.phase
    return plan_stages(
        RunFacts(
            kind=Kind(submission.kind), program=submission.program, on_codabench=phase.as_on_codabench,
            is_single_file=phase.prediction_format is not None, has_ingestion=task.ingestion_program_id is not None,
            beside_scoring=task.runs_beside_scoring, has_input_data=task.input_data_id is not None,
            has_reference_data=task.reference_data_id is not None,
        )
    )  # fmt: skip


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
) -> list[Run]:
    """Plan a submission's runs, one for each task; those that wait have a turn, and workers are woken after the commit."""
    phase = submission.phase
    runs = []
    for task in tasks:
        plan = plan_for(submission, task)
        runs.append(
            Run(
                submission=submission, task=task, team_id=submission.team_id, queue=phase.competition.queue, priority=priority,
                gpus=phase.gpus if submission.kind != Kind.PREDICTION else 0, queued_at=now, not_before=now, state=state,
                plan=stored_plan(plan), needs=plan.needs, fills_board=fills_board,
            )
        )  # fmt: skip
    Run.objects.bulk_create(runs)
    enter_queue(Run.objects.filter(pk__in=[run.pk for run in runs]), now=now)
    return runs

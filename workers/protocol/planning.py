"""Planning a run: its stages, from its submission, the phase's rules, programs and data.

The site plans the runs of its queue by it, and an organizer's machine those of a competition's folder.
"""

from dataclasses import dataclass
from typing import Final

from workers.protocol.limits import MIB
from workers.protocol.plan import FileRole, Plan, PlannedFile, PlannedMount, StagePlan
from workers.protocol.stages import StageName, StageOutput, Step

TMP_BYTES: Final = 512 * MIB
LOG_BYTES: Final = 4 * MIB
DETAILED_BYTES: Final = 32 * MIB  # the page of a scoring program
PROGRAM: Final = "/app/program"
SUBMITTED: Final = "/app/ingested_program"
RESULT: Final = "/app/input/res"
WEIGHTS: Final = "/app/weights"
ENVIRONMENT: Final = "/app/environment"


@dataclass(frozen=True)
class RunFacts:
    """The facts that decide a plan."""

    kind: str  # prediction, code or dataset
    program: str  # what its metadata file says: command, metadata, or nothing
    on_codabench: bool
    is_single_file: bool
    has_ingestion: bool
    beside_scoring: bool
    has_input_data: bool
    has_reference_data: bool
    has_weights: bool = False
    has_requirements: bool = False

    @property
    def runs_code(self) -> bool:
        """True where the submission is run, by itself or by the ingestion program."""
        return self.kind != "prediction"

    @property
    def has_own_command(self) -> bool:
        """True for a submission with a command of its own; on Codabench's rules, in its metadata file."""
        says_command = self.on_codabench and self.program == "command"
        return self.kind == "code" and (says_command or not (self.has_ingestion or self.on_codabench))

    @property
    def is_copied_to_output(self) -> bool:
        """True for a submission without a metadata file on Codabench's rules."""
        return self.on_codabench and self.kind == "code" and not self.program

    @property
    def input_data(self) -> tuple[PlannedFile, ...]:
        """The input data as a mount, where there are any."""
        return (PlannedFile(target="/app/input_data", file=FileRole.INPUT_DATA),) if self.has_input_data else ()

    @property
    def environment(self) -> tuple[PlannedFile, ...]:
        """The weights and packages of the team, as mounts of the stages that run its code."""
        weights = PlannedFile(target=WEIGHTS, file=FileRole.WEIGHTS, unpack=False)
        built = PlannedFile(target=ENVIRONMENT, file=FileRole.REQUIREMENTS, unpack=False)
        return (*((weights,) if self.has_weights else ()), *((built,) if self.has_requirements else ()))


def plan_stages(facts: RunFacts) -> Plan:
    """The stages of a run: the submission, the ingestion program, or both at once; then scoring.

    The ingestion program runs beside scoring where the task says so.
    """
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
        name=StageName.SUBMISSION if facts.has_ingestion else StageName.INGESTION,
        step=Step.FIRST,
        mounts=(PlannedFile(target=PROGRAM, file=FileRole.SUBMISSION), *facts.input_data, *facts.environment),
        writable=facts.on_codabench,
        tolerant=facts.on_codabench and facts.has_ingestion,
    )


def _ingestion(facts: RunFacts) -> StagePlan:
    """The organizer's ingestion program, with the submission and the input data, but no labels."""
    return StagePlan(
        name=StageName.INGESTION,
        step=Step.FIRST,
        mounts=(
            PlannedFile(target=PROGRAM, file=FileRole.INGESTION_PROGRAM),
            PlannedFile(target=SUBMITTED, file=FileRole.SUBMISSION),
            *facts.input_data,
            *facts.environment,
        ),
        writable=facts.on_codabench,
        tolerant=facts.on_codabench,
        prefill=SUBMITTED if facts.is_copied_to_output else None,
    )


def _beside_scoring(facts: RunFacts, result: PlannedMount) -> StagePlan:
    program = PlannedFile(target=PROGRAM, file=FileRole.INGESTION_PROGRAM)
    submitted = result.model_copy(update={"target": SUBMITTED})
    return StagePlan(
        name=StageName.INGESTION,
        step=Step.LAST,
        mounts=(program, *facts.input_data, *facts.environment, submitted, result),
        writable=facts.on_codabench,
        tolerant=facts.on_codabench,
        shared=True,
    )


def _scoring(facts: RunFacts, result: PlannedMount) -> StagePlan:
    """The stage that sees the labels: it runs the organizer's program alone, on data."""
    labels = PlannedFile(target="/app/input/ref", file=FileRole.REFERENCE_DATA, secret=True)
    mounts = [
        PlannedFile(target=PROGRAM, file=FileRole.SCORING_PROGRAM),
        *([labels] if facts.has_reference_data else []),
    ]
    data = facts.input_data if facts.beside_scoring else ()
    return StagePlan(
        name=StageName.SCORING,
        step=Step.LAST,
        mounts=(*mounts, *data, result),
        writable=facts.on_codabench,
        shared=facts.on_codabench or facts.beside_scoring,
    )

"""The plan of a run, made when it is queued: its stages, with files named by their roles.

Addresses come when the run is handed out.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Tag, model_validator

from workers.protocol.jobs import EITHER
from workers.protocol.messages import TAG, Message
from workers.protocol.stages import Mounted, StageOutput, StageShape, Step, check_order


class FileRole(StrEnum):
    """The files that a run may be given. Which version that is, is decided when it is handed out."""

    SUBMISSION = "submission"
    PREDICTIONS = "predictions"  # what an earlier attempt handed over for scoring
    INGESTION_PROGRAM = "ingestion_program"
    INPUT_DATA = "input_data"
    SCORING_PROGRAM = "scoring_program"
    REFERENCE_DATA = "reference_data"
    IMAGE = "image"  # the archive of a container image that the team brought
    WEIGHTS = "weights"
    REQUIREMENTS = "requirements"  # the lock file that an environment is built from


class Needs(StrEnum):
    """The next step of a run; which workers may take it follows from that."""

    INGESTION = "ingestion"  # the first step, which runs participants' code, then scoring
    SCORING = "scoring"
    TOGETHER = "together"  # both at the same time, on one worker


class PlannedFile(Mounted):
    """A file of the run, unpacked or not."""

    file: FileRole
    unpack: bool = True


PlannedMount = Annotated[
    Annotated[PlannedFile, Tag(f"{TAG}file")] | Annotated[StageOutput, Tag(f"{TAG}output")], EITHER
]


class StagePlan(StageShape[PlannedMount]):
    """One stage, without addresses, image and limits: those are of the moment at which it is handed out."""


class Plan(Message):
    """All stages of a run. The rules of a job hold for it, too: no plan can show labels."""

    stages: tuple[StagePlan, ...]

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        check_order(self.stages)
        return self

    @property
    def first_step(self) -> tuple[StagePlan, ...]:
        """The stages before scoring."""
        return tuple(stage for stage in self.stages if stage.step == Step.FIRST)

    @property
    def beside_scoring(self) -> bool:
        """The ingestion program runs at the same time as the scoring program."""
        return any(stage.beside_scoring for stage in self.stages)

    @property
    def needs(self) -> Needs:
        """The step that a worker must be allowed to run to take the run as it stands."""
        if self.beside_scoring:
            return Needs.TOGETHER
        return Needs.INGESTION if self.first_step else Needs.SCORING

    def after_ingestion(self) -> "Plan":
        """The rest of the plan, with the first step's output as a file like any other."""
        left = (stage for stage in self.stages if stage.step == Step.LAST)
        return Plan(
            stages=tuple(stage.model_copy(update={"mounts": tuple(map(_handed_over, stage.mounts))}) for stage in left)
        )


def _handed_over(mount: PlannedFile | StageOutput) -> PlannedFile | StageOutput:
    if isinstance(mount, PlannedFile):
        return mount
    return PlannedFile(target=mount.target, file=FileRole.PREDICTIONS)

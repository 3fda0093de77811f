"""Stages, for a plan that names files by their roles, and for a job that has their addresses.

The same rules hold for both.
"""

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Any, Final, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from workers.protocol.messages import Message

Target = Literal[
    "/app/program",
    "/app/ingested_program",
    "/app/input_data",
    "/app/input/ref",
    "/app/input/res",
    "/app/weights",
    "/app/environment",
]
OF_THE_TEAM: Final = ("/app/weights", "/app/environment")


class StageName(StrEnum):
    """The stages that there are, in the order in which a job names them."""

    SUBMISSION = "submission"
    INGESTION = "ingestion"
    SCORING = "scoring"


class Step(IntEnum):
    """Stages of one step run at the same time, the steps one after the other."""

    FIRST = 1
    LAST = 2


STEPS = {
    StageName.SUBMISSION: (Step.FIRST,),
    StageName.INGESTION: (Step.FIRST, Step.LAST),
    StageName.SCORING: (Step.LAST,),
}


class Mounted(Message):
    """One folder that a stage sees at `target`. `secret`: labels, which no participant's code may see."""

    target: Target
    secret: bool = False


class StageOutput(Mounted):
    """The output of an earlier stage."""

    stage_output: Literal[StageName.SUBMISSION, StageName.INGESTION]


MountT = TypeVar("MountT", bound=Mounted)


class StageShape(Message, Generic[MountT]):
    """One container.

    `writable`: programs and inputs are copies that it may change. `shared`: it sees `/app/shared` of its step. `prefill`: the
    mount whose content is copied into its output before it starts. `tolerant`: how it ends fails no run, but for its limits.
    """

    name: StageName
    step: Step = Field(default_factory=lambda before: STEPS.get(before.get("name", ""), (Step.FIRST,))[0])
    mounts: tuple[MountT, ...]
    writable: bool = False
    shared: bool = False
    prefill: Target | None = None
    tolerant: bool = False

    @property
    def beside_scoring(self) -> bool:
        """True for a stage that runs at the same time as the scoring stage."""
        return self.name != StageName.SCORING and self.step == Step.LAST

    @model_validator(mode="after")
    def _check_step(self) -> Self:
        if self.step not in STEPS[self.name]:
            raise ValueError(f"the step of the {self.name} stage must be {' or '.join(map(str, STEPS[self.name]))}")
        return self

    @model_validator(mode="after")
    def _check_mounts(self) -> Self:
        targets = [mount.target for mount in self.mounts]
        if len(set(targets)) != len(targets):
            raise ValueError("mounts names a target twice")
        for mount in self.mounts:
            # Labels never enter a container that runs participants' code, whoever asks for it.
            if self.name != StageName.SCORING and (mount.secret or mount.target == "/app/input/ref"):
                raise ValueError(f"{mount.target} must not be given to the {self.name} stage")
            # What a team brings for its code never enters the container that sees labels: there it could be run.
            if self.name == StageName.SCORING and mount.target in OF_THE_TEAM:
                raise ValueError(f"{mount.target} must not be given to the scoring stage")
            if isinstance(mount, StageOutput) and self.name == StageName.SUBMISSION:
                raise ValueError(f"the stage {self.name} cannot read the output of {mount.stage_output!r}")
        return self

    @model_validator(mode="after")
    def _check_prefill(self) -> Self:
        if self.prefill and not any(mount.target == self.prefill and not mount.secret for mount in self.mounts):
            raise ValueError(f"prefill must be the target of one of its mounts, not {self.prefill!r}")
        return self


def check_order(stages: Sequence[StageShape[Any]]) -> None:
    """Check that scoring comes last, each name once, and outputs are of earlier steps.

    A worker may get only the first step. Raises `ValueError`.
    """
    names = [stage.name for stage in stages]
    only_first = bool(stages) and all(stage.step == Step.FIRST for stage in stages)
    is_ordered = names == sorted(set(names), key=list(StageName).index)
    if not is_ordered or (names[-1:] != [StageName.SCORING] and not only_first):
        raise ValueError("stages must be scoring, with submission and ingestion before it where they are needed")
    steps = {str(stage.name): stage.step for stage in stages}
    for stage in stages:
        for mount in stage.mounts:
            if isinstance(mount, StageOutput) and steps.get(mount.stage_output, Step.LAST) >= stage.step:
                raise ValueError(
                    f"{stage.name}: there is no earlier stage {mount.stage_output!r} whose output it could read"
                )

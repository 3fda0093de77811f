"""The use of CPU, memory and GPU by a stage over its time, as a line of points."""

from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from workers.protocol.messages import Measured, Message
from workers.protocol.stages import StageName

MAX_POINTS: Final = 100  # of one stage; a run has three stages at most


def _points(value: object) -> object:
    """The points of a list, at most `MAX_POINTS`; none of anything else."""
    return tuple(value[:MAX_POINTS]) if isinstance(value, list | tuple) else ()


Points = Annotated[tuple[Measured, ...], BeforeValidator(_points)]


MAX_STAGES: Final = 4


class StageUsage(Message):
    """The line of a stage. Each point ends `at_s` seconds after the stage began.

    A point has the average of cores and of the GPU's share in use since the point before, and the most memory that was seen. The lists have
    one length; None: not known.
    """

    name: StageName
    at_s: Points = ()
    cpu_cores: Points = ()
    memory_bytes: Points = ()
    gpu_share: Points = ()
    gpu_memory_bytes: Points = ()


Usages = Annotated[tuple[StageUsage, ...], Field(max_length=MAX_STAGES), BeforeValidator(lambda value: value or ())]
"""The lines of a run's stages, each whole: what was sent before is replaced."""

"""How a stage used CPU, memory and GPU over its time, as a line of points."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from workers.protocol.messages import Measured, Message
from workers.protocol.stages import StageName

MAX_POINTS: Final = 100  # of one stage; a run has three stages at most


def _points(value: object) -> object:
    """What is no list is none; points beyond the most are left out."""
    return tuple(value[:MAX_POINTS]) if isinstance(value, list | tuple) else ()


Points = Annotated[tuple[Measured, ...], BeforeValidator(_points)]


MAX_STAGES: Final = 4


class StageUsage(Message):
    """Each point ends `at_s` seconds after the stage began; it says the cores and the share of the GPU that were busy on average
    since the point before, and the most memory that was seen. The lists have one length; None: not known.
    """

    name: StageName
    at_s: Points = ()
    cpu_cores: Points = ()
    memory_bytes: Points = ()
    gpu_share: Points = ()
    gpu_memory_bytes: Points = ()


Usages = Annotated[tuple[StageUsage, ...], Field(max_length=MAX_STAGES), BeforeValidator(lambda value: value or ())]
"""The lines of a run's stages, each whole: what was sent before is replaced."""

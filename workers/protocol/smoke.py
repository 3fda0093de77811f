"""The smoke run as site, worker and a participant's machine know it."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from workers.protocol.hosts import Calibration
from workers.protocol.jobs import Job
from workers.protocol.messages import Line, Message, Number

SMOKE_WALL_S: Final = 300  # at most, of each container; less where the phase gives less
# In place of the addresses of what is brought: it is on the participant's machine.
SUBMISSION: Final = "submission:"
WEIGHTS: Final = "weights:"
IMAGE: Final = "image:"
REQUIREMENTS: Final = "requirements:"
NO_MIRROR: Final = "no_package_mirror"  # the code of a run whose requirements its queue cannot have installed


class SmokeOffer(Message):
    """The smoke run of a phase, for a participant's own machine.

    It is the job that a worker would get, with addresses of the site's API, and the site's knowledge of the hardware that it would run on.
    """

    job: Job
    needs_command: bool
    takes_requirements: bool = False
    no_mirror: Line = ""  # why none can be installed all the same
    image_platform: Line = ""  # what an image that is brought must be for
    time_limit_s: Number  # of the run on the hidden data, in seconds
    scale: Annotated[float, Field(ge=1)] | None = None  # how many times the mini split the hidden data are
    image_digest: Line = ""  # with which the site ran last
    calibrations: tuple[Calibration, ...] = ()  # of the workers that would take it


def projected_s(wall_s: float, scale: float | None) -> float | None:
    """The seconds of a run on the hidden data, if its time grows with them; None: not known.

    >>> projected_s(2.0, 150)
    300.0
    """
    return None if scale is None else wall_s * scale

"""The smoke run as site, worker and a participant's machine know it."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

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


@dataclass(frozen=True)
class WholeTime:
    """Seconds of a run on the hidden data, by one on the mini split.

    Nobody can tell the start-up, such as imports and loading a model, from the part that grows with the data. So it is at least the
    time of the mini split, if all of that was start-up, and at most as many times that as there are more data, if nothing was.
    """

    least_s: float
    most_s: float

    def verdict(self, limit_s: float) -> Literal["within", "over", "unclear"]:
        """The limit is kept for certain, is not, or that depends on the start-up."""
        return "within" if self.most_s <= limit_s else "over" if self.least_s > limit_s else "unclear"


def project_whole(wall_s: float, scale: float | None) -> WholeTime | None:
    """The time of a run on the hidden data, which are `scale` times the mini split; None: not known.

    >>> project_whole(2.0, 150)
    WholeTime(least_s=2.0, most_s=300.0)
    """
    return None if scale is None else WholeTime(wall_s, wall_s * scale)

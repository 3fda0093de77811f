"""The time of a run on other hardware, and on more data, as an interval.

It follows from the times of a fixed load on both hosts.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workers.protocol.hosts import Calibration, CpuTimes, GpuTimes
from workers.protocol.messages import Message
from workers.protocol.smoke import WholeTime, project_whole


@dataclass(frozen=True)
class Interval:
    """A figure between the least and the most that it may be."""

    low: float
    middle: float
    high: float

    def times(self, factor: float) -> "Interval":
        """The interval, so many times as long."""
        return Interval(self.low * factor, self.middle * factor, self.high * factor)


@dataclass(frozen=True)
class Projection:
    """Seconds on the site's hardware: of the mini split, and of the hidden data with their limit.

    None where that is not known.
    """

    smoke_s: Interval
    whole: WholeTime | None
    limit_s: float


def project(wall_s: float, speed: Interval, *, scale: float | None, limit_s: float) -> Projection:
    """The time there of a run that took `wall_s` seconds here.

    `scale`: how many times the mini split the hidden data are.
    """
    whole = project_whole(wall_s, scale)
    there = WholeTime(speed.low * whole.least_s, speed.high * whole.most_s) if whole else None
    return Projection(speed.times(wall_s), there, limit_s)


def relative_speed(here: Calibration, there: Sequence[Calibration], *, on_gpu: bool, cores: float) -> Interval | None:
    """Seconds there for each second here; None where nothing can be compared.

    Every load on every worker is one ratio. The interval goes from the least to the largest of them, because nobody knows which
    load a program is most like; the middle is their geometric mean. `cores`: of the budget; one core makes nothing of many.

    >>> home = Calibration(loads=1, cpu=CpuTimes(interpreter_s=2.0, digest_s=1.0))
    >>> site = Calibration(loads=1, cpu=CpuTimes(interpreter_s=1.0, digest_s=2.0))
    >>> relative_speed(home, [site], on_gpu=False, cores=1)
    Interval(low=0.5, middle=1.0, high=2.0)
    """
    ratios = [ratio for other in there if other.loads == here.loads for ratio in _ratios(here, other, on_gpu, cores)]
    if not ratios:
        return None
    middle = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return Interval(min(ratios), middle, max(ratios))


def _ratios(here: Calibration, there: Calibration, on_gpu: bool, cores: float) -> Iterator[float]:
    names = [name for name in CpuTimes.model_fields if cores > 1 or name != "everywhere_s"]
    yield from _of_loads(here.cpu, there.cpu, names)
    if on_gpu:
        for local in here.gpus[:1]:
            for other in there.gpus:
                yield from _of_loads(local, other, [name for name in GpuTimes.model_fields if name.endswith("_s")])


def _of_loads(here: Message, there: Message, names: Sequence[str]) -> Iterator[float]:
    for name in names:
        local, other = getattr(here, name), getattr(there, name)
        if local and other:
            yield other / local

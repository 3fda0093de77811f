"""The use of CPU, memory and GPU while a stage ran: a line of few points, however long it took."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from workers.errors import SandboxError
from workers.protocol.calls import MAX_POINTS, StageUsage
from workers.protocol.stages import StageName

log = structlog.get_logger(__name__)

SAMPLE_S: Final = 1.0


@dataclass(frozen=True)
class Reading:
    """Seconds of CPU and GPU so far, bytes of memory at this moment. None: not known."""

    cpu_s: float | None = None
    memory_bytes: int | None = None
    gpu_s: float | None = None
    gpu_memory_bytes: int | None = None


@dataclass(frozen=True)
class _Sample:
    """The sums at second `at_s` of the stage, and the largest memory since the sample before."""

    at_s: float
    reading: Reading

    def merge(self, later: "_Sample") -> "_Sample":
        """Both samples as one: sums are those of the end."""
        now = later.reading
        return _Sample(
            later.at_s,
            Reading(
                now.cpu_s,
                _larger(self.reading.memory_bytes, now.memory_bytes),
                now.gpu_s,
                _larger(self.reading.gpu_memory_bytes, now.gpu_memory_bytes),
            ),
        )


class UsageSeries:
    """At most `MAX_POINTS` samples: a full line is halved, each two neighbours becoming one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._every_s = 0.0  # a sample that follows sooner becomes part of the one before
        self._samples: list[_Sample] = []
        self._lock = threading.Lock()

    def add(self, at_s: float, reading: Reading) -> None:
        """One sample, `at_s` seconds after the stage began."""
        sample = _Sample(at_s, reading)
        with self._lock:
            before = self._samples[-2].at_s if len(self._samples) > 1 else 0.0
            if self._samples and at_s - before < self._every_s:
                self._samples[-1] = self._samples[-1].merge(sample)
                return
            self._samples.append(sample)
            if len(self._samples) > MAX_POINTS:
                self._halve()

    def _halve(self) -> None:
        pairs = [self._samples[place : place + 2] for place in range(0, len(self._samples), 2)]
        self._samples = [pair[0].merge(pair[-1]) for pair in pairs]
        self._every_s = self._samples[-1].at_s / len(self._samples)

    def said(self) -> StageUsage:
        """The line as it is sent: average cores and GPU share since the point before, and most bytes."""
        with self._lock:
            samples = tuple(self._samples)
        before = (_Sample(0.0, Reading(0.0, 0, 0.0, 0)), *samples)
        return StageUsage(
            name=StageName(self._name),  # containers that build an environment are no stages, and say nothing
            at_s=tuple(round(sample.at_s, 3) for sample in samples),
            cpu_cores=_rates(before, [sample.reading.cpu_s for sample in before]),
            memory_bytes=tuple(sample.reading.memory_bytes for sample in samples),
            gpu_share=_rates(before, [sample.reading.gpu_s for sample in before]),
            gpu_memory_bytes=tuple(sample.reading.gpu_memory_bytes for sample in samples),
        )


def _rates(samples: tuple[_Sample, ...], sums: list[float | None]) -> tuple[float | None, ...]:
    """The use a second between one sample and the next; a sum that is not known gives none."""
    rates: list[float | None] = []
    for place in range(1, len(samples)):
        first, last = sums[place - 1], sums[place]
        seconds = samples[place].at_s - samples[place - 1].at_s
        known = first is not None and last is not None and seconds > 0
        rates.append(round(max(0.0, last - first) / seconds, 4) if known else None)  # type: ignore[operator]  # both known
    return tuple(rates)


def _larger(first: int | None, second: int | None) -> int | None:
    known = [value for value in (first, second) if value is not None]
    return max(known) if known else None


class UsageSampler(threading.Thread):
    """Adds a sample a second to a series until it is stopped.

    What cannot be read leaves a gap; it never ends the stage. `read` gives the figures now, and is cheap. `started` is
    `time.monotonic()` when the stage began, which may be long ago for one that was adopted.
    """

    def __init__(
        self, series: UsageSeries, read: Callable[[], Reading], *, started: float, sample_s: float = SAMPLE_S
    ) -> None:
        super().__init__(name="usage", daemon=True)
        self._series = series
        self._read = read
        self._since = started
        self._sample_s = sample_s
        self._stop_event = threading.Event()
        self._has_failed = False  # said once, not every second

    def run(self) -> None:
        """Sample until `stop`."""
        while not self._stop_event.wait(self._sample_s):
            self.take()

    def take(self) -> None:
        """Take one sample now."""
        try:
            self._series.add(time.monotonic() - self._since, self._read())
        except (SandboxError, OSError) as error:  # the engine or the host is away for a moment
            if not self._has_failed:
                log.warning("usage_not_sampled", error=str(error))
            self._has_failed = True

    def stop(self) -> None:
        """The container is gone: no further sample."""
        self._stop_event.set()
        self.join(2 * self._sample_s)

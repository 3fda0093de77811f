"""The job of a cluster that a worker is: until when, and how many runs it may take."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

INTERRUPTED = "interrupted"  # why a run is ended that is handed back because its worker's job ends


@dataclass(frozen=True)
class Allocation:
    """A job of a cluster's scheduler. Without an id, the worker is not a job and its host is its own.

    `ends_at` is a time of this host's clock, in seconds since 1970. `memory_bytes` is what one run may use.
    """

    job: str = ""
    ends_at: float | None = None
    memory_bytes: int | None = None
    drain_s: int = 0

    def seconds_left(self, clock: Callable[[], float] = time.time) -> float | None:
        """Seconds that a run may take which is begun now; None without an end.

        What is beside the limits of a run, such as fetching its files, has as long as the hand-back at the end.

        >>> Allocation(ends_at=1000.0, drain_s=100).seconds_left(lambda: 500.0)
        300.0
        """
        return None if self.ends_at is None else max(self.ends_at - 2 * self.drain_s - clock(), 0.0)

    def is_over(self, clock: Callable[[], float] = time.time) -> bool:
        """True once runs that have not ended must be handed back."""
        return self.ends_at is not None and clock() >= self.ends_at - self.drain_s


NO_ALLOCATION: Final = Allocation()


class RunAllowance:
    """The number of runs that a worker may still take; without a limit, as many as there are."""

    def __init__(self, runs: int = 0) -> None:
        self._left = runs or math.inf
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take one before a claim; False where none is left."""
        with self._lock:
            if self.is_used_up:
                return False
            self._left -= 1
            return True

    def give_back(self) -> None:
        """Return one: nothing was claimed, or it was handed back unstarted."""
        with self._lock:
            self._left += 1

    @property
    def is_used_up(self) -> bool:
        """True when the worker may take no more."""
        return self._left == 0


class IdleClock:
    """Tells when a worker has held no run for some time; 0 seconds: never."""

    def __init__(self, until_idle_s: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._until_idle_s = until_idle_s
        self._clock = clock
        self._busy_at = clock()

    def is_idle(self, *, busy: bool) -> bool:
        """Look at the worker now: True once it has been idle for long enough."""
        if busy:
            self._busy_at = self._clock()
        return bool(self._until_idle_s) and self._clock() - self._busy_at >= self._until_idle_s

"""Ends a container at its wall limit, when cancelled, or when it outgrows an output without a quota."""

import threading
import time
from collections.abc import Callable

import structlog

from workers.errors import SandboxError

log = structlog.get_logger(__name__)

KILL_AGAIN_S = 0.5
CHECK_S = 0.5
# Reasons for which a program that writes to a folder without a quota is ended.
TOO_LARGE, TOO_MANY_FILES, TOO_DEEP, HIDDEN = "output_limit", "output_files", "output_depth", "output_hidden"
NOT_KILLED_S = 300.0  # since the first kill: a process that waits inside the kernel may never end


class Watch(threading.Thread):
    """A thread for one running container, by a monotonic clock.

    So a change of the host's time moves no limit. None of its calls may end it before the container: without it no limit of time holds.

    `kill` ends the container, and is called again every half second until `ended` is called, since an engine may be busy.
    `deadline` is `time.monotonic()` of the wall limit. `overgrown` and `unwanted` are called twice a second: a reason of
    the first ends the container, as True of the second does, as `cancelled`. `on_kill` is called with the reason before
    the first kill, so that it can be kept for the next process.
    """

    def __init__(
        self,
        kill: Callable[[], None],
        *,
        deadline: float,
        overgrown: Callable[[], str | None] | None = None,
        unwanted: Callable[[], bool] | None = None,
        on_kill: Callable[[str], None] = lambda reason: None,
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self._kill = kill
        self._deadline = deadline
        self._overgrown = overgrown
        self._unwanted = unwanted
        self._on_kill = on_kill
        self._changed = threading.Condition()
        self._ended = False
        self._killing_since: float | None = None
        self.killed_by: str | None = None

    def cancel(self, reason: str) -> None:
        """End the container now; the first reason counts."""
        with self._changed:
            self.killed_by = self.killed_by or reason
            self._changed.notify_all()

    def stop(self) -> None:
        """The container is gone: nothing is left to do."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def kill_has_failed(self) -> bool:
        """True when the container has been killed for so long that it will hardly end."""
        return self._killing_since is not None and time.monotonic() - self._killing_since > NOT_KILLED_S

    def run(self) -> None:
        """Wait for the first reason to kill, then kill until the container is gone."""
        with self._changed:
            while not self._ended and self.killed_by is None:
                self._changed.wait(self._next_look())
                self._look()
            if self._ended:
                return
        self._tell()
        self._killing_since = time.monotonic()
        while not self._ended:
            self._try_kill()
            with self._changed:
                if not self._ended:
                    self._changed.wait(KILL_AGAIN_S)

    def _next_look(self) -> float:
        left = max(0.0, self._deadline - time.monotonic())
        return min(left, CHECK_S) if self._overgrown or self._unwanted else min(left, threading.TIMEOUT_MAX)

    def _look(self) -> None:
        if self._ended or self.killed_by is not None:
            return
        if time.monotonic() >= self._deadline:
            self.killed_by = "time_limit"
        elif self._unwanted is not None and self._unwanted():
            self.killed_by = "cancelled"
        else:
            self.killed_by = self._outgrown()

    def _outgrown(self) -> str | None:
        try:
            return None if self._overgrown is None else self._overgrown()
        except OSError as error:
            log.warning("output_not_measured", detail=str(error)[:200])
            return None

    def _tell(self) -> None:
        try:
            self._on_kill(str(self.killed_by))
        except OSError as error:  # a full disk: a successor would not know why, and tries the run again
            log.warning("kill_not_written_down", detail=str(error)[:200])

    def _try_kill(self) -> None:
        try:
            self._kill()
        except SandboxError:
            return  # asked again in half a second; the run's own wait reports an engine that stays away
        except Exception:
            log.exception("kill_failed")

"""A container's log: shown live while it runs, kept as head and tail, bounded in memory and on disk."""

import codecs
import contextlib
import threading
from pathlib import Path

from workers.engines.base import Engine
from workers.errors import SandboxError
from workers.sandbox.overwrites import Overwrites

TAIL_MESSAGES = 400
MAX_FOLLOWED_BYTES = 32 << 20  # a flood is not read for as long as it lasts; of a longer log the end is read
CUT_NOTICE = "\n[... the log is longer than its limit of {limit} bytes; what follows is its end ...]\n"


class StageLog:
    """Collects one stage's output from the engine in a thread of its own.

    The first three quarters of `limit_bytes` are kept as they come and shown live; when they are full the engine is
    left alone, and only the end of its (bounded) log is read once the container is dead. What a terminal would have written
    over is left out, else a progress bar would fill all of it. `sent_bytes` is where an adopted run's live text goes on.
    """

    def __init__(self, engine: Engine, container: str, *, limit_bytes: int, sent_bytes: int = 0) -> None:
        self._engine = engine
        self._container = container
        self._limit = limit_bytes
        self._head_limit = limit_bytes * 3 // 4
        self._head = bytearray()
        self._tail = b""
        self._cut = False
        self._lock = threading.Lock()
        self._sent = sent_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._thread = threading.Thread(target=self._follow, name=f"log-{container[:12]}", daemon=True)

    def start(self) -> None:
        """Begin to follow. The container has been started."""
        self._thread.start()

    def _follow(self) -> None:
        # The log is a convenience, never evidence: without an engine there is none, and the run goes on.
        with contextlib.suppress(SandboxError, OSError, ValueError):
            stream = self._engine.collect(self._container, follow=True)
            overwrites, followed = Overwrites(), 0
            try:
                for chunk in stream:
                    followed += len(chunk)
                    if not self._add(overwrites.pass_on(chunk), more=followed <= MAX_FOLLOWED_BYTES):
                        break
            finally:
                stream.close()

    def _add(self, chunk: bytes, *, more: bool) -> bool:
        with self._lock:
            room = self._head_limit - len(self._head)
            self._head += chunk[:room]
            self._cut = len(chunk) > room or not more
            return not self._cut

    @property
    def sent_bytes(self) -> int:
        """The number of bytes of the log that `take_live` has given out."""
        return self._sent

    @property
    def has_live(self) -> bool:
        """True if `take_live` would give text."""
        return self._sent < len(self._head)

    def take_live(self, max_bytes: int) -> str:
        """Text that has come since the last call, at most about `max_bytes`."""
        with self._lock:
            fresh = bytes(self._head[self._sent : self._sent + max_bytes])
            self._sent += len(fresh)
        return self._decoder.decode(fresh)

    def finish(self, timeout_s: float = 5.0) -> None:
        """Wait briefly for the follower of a container that ended, then read the rest of its log."""
        self._thread.join(timeout_s)
        with contextlib.suppress(SandboxError, OSError, ValueError):
            if not self._cut:
                self._read_again()
            if self._cut:
                self._tail = self._read_tail()

    def _read_again(self) -> None:
        """Engines end a follower without a last line that has no line break; a plain read has it."""
        whole, overwrites, followed = bytearray(), Overwrites(), 0
        for chunk in self._engine.collect(self._container, follow=False):
            whole += overwrites.pass_on(chunk)
            followed += len(chunk)
            if len(whole) > self._head_limit or followed > MAX_FOLLOWED_BYTES:
                break
        else:
            whole += overwrites.rest()
        with self._lock:
            if len(whole) > len(self._head):
                self._head = whole[: self._head_limit]
                self._cut = len(whole) > self._head_limit or followed > MAX_FOLLOWED_BYTES

    def _read_tail(self) -> bytes:
        end, overwrites = b"", Overwrites()
        limit = self._limit - self._head_limit
        for chunk in self._engine.collect(self._container, follow=False, tail=TAIL_MESSAGES):
            end = (end + overwrites.pass_on(chunk))[-limit:]
        return (end + overwrites.rest())[-limit:]

    def content(self) -> bytes:
        """The log as it is kept: all of it, or head, notice and tail."""
        with self._lock:
            head = bytes(self._head)
        if not self._cut:
            return head
        return head + CUT_NOTICE.format(limit=self._limit).encode() + self._tail

    def write(self, path: Path) -> None:
        """Write what is kept to a file of the worker's."""
        path.write_bytes(self.content())

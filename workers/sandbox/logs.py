"""A container's log: shown live while it runs, kept as head and tail, bounded in memory and on disk."""

import codecs
import contextlib
import re
import threading
from pathlib import Path

from workers.engines.base import Engine
from workers.errors import SandboxError

TAIL_MESSAGES = 400
MAX_FOLLOWED_BYTES = 32 << 20  # a flood is not read for as long as it lasts; of a longer log the end is read
CUT_NOTICE = "\n[... the log is longer than its limit of {limit} bytes; what follows is its end ...]\n"


CONTROL = re.compile(rb"[\r\n]")
SHOWN_AT_ONCE = 20  # rewrites of one line; beyond, each next one is shown when there are 5 % more
MAX_HELD_BYTES = 4096  # a longer rewrite is a text of its own


class Overwrites:
    """Filters one stream, piece by piece; what comes out is the same wherever the pieces are cut.

    Of the rewrites of a line the first ones are kept, then ever fewer, so that a live log goes on, and always the last one.
    """

    def __init__(self) -> None:
        self._start_line()

    def _start_line(self) -> None:
        self._rewrites = 0
        self._next_shown = 0
        self._start_rewrite(shown=True)
        self._last = b""

    def _start_rewrite(self, *, shown: bool) -> None:
        self._shown = shown
        self._held = b""
        self._is_empty = True

    def pass_on(self, piece: bytes) -> bytes:
        """The part of the next piece that stays."""
        if self._rewrites == 0 and b"\r" not in piece:
            return piece
        out = bytearray()
        position = 0
        for match in CONTROL.finditer(piece):
            out += self._text(piece[position : match.start()])
            out += self._carriage_return() if match[0] == b"\r" else self._line_feed()
            position = match.end()
        return bytes(out + self._text(piece[position:]))

    def _text(self, text: bytes) -> bytes:
        if not text:
            return b""
        self._is_empty = False
        if self._shown:
            self._last = b""
            return text
        self._held += text
        if len(self._held) <= MAX_HELD_BYTES:
            return b""
        out = b"\r" + self._held
        self._start_rewrite(shown=True)
        self._is_empty, self._last = False, b""
        return out

    def _carriage_return(self) -> bytes:
        self._last = self._held or self._last
        self._rewrites += 1
        shown = self._rewrites >= self._next_shown
        if shown:
            self._next_shown = self._rewrites + max(1, self._rewrites // SHOWN_AT_ONCE)
        self._start_rewrite(shown=shown)
        return b"\r" if shown else b""

    def _line_feed(self) -> bytes:
        out = self.rest() + b"\n"
        self._start_line()
        return out

    def rest(self) -> bytes:
        """The last rewrite of a line that has not ended, where it was held back."""
        last = self._held or (self._last if self._is_empty else b"")
        self._held = self._last = b""
        return b"\r" + last if last else b""


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

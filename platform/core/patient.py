"""A gunicorn worker that slow clients do not stop: they hold a thread for seconds, and never one before they have sent anything.

A connection that is silent for `STALL_S`, or sends or takes less than `BYTES_PER_S` on average while a thread waits for it, is
closed. In production a buffering front (nginx in Compose) keeps slow clients away; a site without one needs threads enough, too.
"""

import selectors
import socket
import time
from functools import partial
from typing import Any, Final

from gunicorn.workers.gthread import TConn, ThreadWorker

STALL_S: Final = 15.0
# An idle connection costs no thread. It must outlast the pauses of compute workers, and the 60 s for which fronts usually keep theirs:
# who sends a request just as the connection is closed gets no answer.
KEEP_ALIVE_S: Final = 75
ALLOWANCE_S: Final = 15.0
BYTES_PER_S: Final = 1024


class TooSlow(TimeoutError):
    """A client kept a thread waiting for longer than its bytes are worth."""


class PatientSocket(socket.socket):
    """A client's socket that waits for so long and no longer. Only time that a thread has waited counts."""

    waited_s = 0.0
    moved_bytes = 0

    def setblocking(self, flag: bool, /) -> None:
        if self.fileno() >= 0:  # else it is closed
            self.settimeout(STALL_S if flag else 0.0)

    def recv(self, *args: Any) -> bytes:
        began = time.monotonic()
        data = super().recv(*args)
        self._require_pace(began, len(data))
        return data

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        rest = memoryview(data).cast("B")
        while rest:
            began = time.monotonic()
            sent = self.send(rest, flags)
            self._require_pace(began, sent)
            rest = rest[sent:]

    def _require_pace(self, began: float, moved: int) -> None:
        self.waited_s += time.monotonic() - began
        self.moved_bytes += moved
        if self.waited_s > ALLOWANCE_S + self.moved_bytes / BYTES_PER_S:
            raise TooSlow("too slow")


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Threads for requests that have begun to arrive, and for the wait until a client has taken its answer."""

    def handle(self, conn: TConn) -> Any:
        """Serve a request, and close the connection here: the loop that all connections share would wait seconds for each client."""
        is_kept = super().handle(conn)
        if is_kept is False:
            conn.close(graceful=True)
        return is_kept

    def enqueue_req(self, conn: TConn) -> None:
        """Give a connection a thread; a new one when its first bytes are there."""
        if not isinstance(conn.sock, PatientSocket):
            conn.sock = PatientSocket(fileno=conn.sock.detach())
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + STALL_S
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

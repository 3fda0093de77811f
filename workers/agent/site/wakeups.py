"""Wake-ups: a message says "there may be work" and nothing else. Without a broker the worker polls."""

import threading

import structlog
from kombu import Connection, Consumer, Exchange, Queue

from workers.protocol.broker import SCHEME, TRANSPORT, folder_options, is_folder

log = structlog.get_logger(__name__)

FILE_POLL_S = 0.05
ROUND_S = 1.0
RECONNECT_S = 5.0
SOCKET_TIMEOUT_S = 3


class Wakeups:
    """Counts them, so that one that comes between a look and a wait is not missed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0

    def wake(self) -> None:
        """Wake everyone who waits."""
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> bool:
        """Wait for the one after the `seen`-th; False when the time is over."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count > seen, timeout_s)


def connection_to(broker: str) -> Connection:
    """A connection by address; `filesystem:///folder` is the embedded site's broker of files."""
    if is_folder(broker):
        return Connection(SCHEME, transport=TRANSPORT, transport_options=folder_options(broker, poll_s=FILE_POLL_S))
    timeouts = {"socket_timeout": SOCKET_TIMEOUT_S, "socket_connect_timeout": SOCKET_TIMEOUT_S}
    return Connection(broker, transport_options=timeouts, connect_timeout=SOCKET_TIMEOUT_S)


class WakeupListener(threading.Thread):
    """Listens on one Celery queue and passes each wake-up on. A broker that is away costs latency alone."""

    def __init__(self, broker: str, queue: str, wakeups: Wakeups, stopping: threading.Event) -> None:
        super().__init__(name="wakeups", daemon=True)
        self._broker = broker
        self.queue = Queue(queue, Exchange(queue, type="direct"), routing_key=queue)
        self._wakeups = wakeups
        self._stopping = stopping

    def run(self) -> None:
        """Listen until the worker stops; connect again after a pause whenever the broker goes away."""
        while not self._stopping.is_set():
            try:
                self._listen()
            except Exception as error:  # noqa: BLE001  each transport has exceptions of its own; none may end the worker
                log.warning("broker_unreachable", detail=str(error)[:200])
                self._wakeups.wake()  # what was said meanwhile is unknown: look
                self._stopping.wait(RECONNECT_S)

    def _listen(self) -> None:
        with connection_to(self._broker) as connection:
            consumer = Consumer(
                connection, [self.queue], no_ack=True, accept=["json"], on_message=lambda _: self._wakeups.wake()
            )
            with consumer:
                while not self._stopping.is_set():
                    try:
                        connection.drain_events(timeout=ROUND_S)
                    except TimeoutError:
                        continue

"""The loop of one process and its threads: connections, complete requests, health."""

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from io import BytesIO
from typing import Any, Final, TypeVar
from wsgiref.types import WSGIEnvironment

import structlog
from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPMessageDelegate, HTTPServerConnectionDelegate
from tornado.iostream import IOStream

from core.health import RETRY_AFTER_S, UNAVAILABLE
from core.serving.answers import Answer, Application, plain_answer, respond
from core.serving.exchange import SENT_BYTES, Exchange

log = structlog.get_logger(__name__)
Result = TypeVar("Result")
# An idle connection costs no thread. It must outlast the pauses of compute workers, and the 60 s for which fronts usually keep theirs:
# who sends a request just as the connection is closed gets no answer. A head has to be there within the same time, however slowly it comes.
KEEP_ALIVE_S: Final = 75
HEAD_BYTES: Final = 32 * 1024
MOST_CONNECTIONS: Final = 4096
FILES_BESIDES: Final = 256  # open files of a process that are no connections
MOST_WAITING: Final = 512  # requests for a thread
SWEEP_S: Final = 1.0
FAULT: Final = "The site failed at this; it has been logged. Try again, or tell the administrators."
ALIVE, READY = "/healthz", "/readyz"


class SiteServer(HTTPServerConnectionDelegate):
    """Serves one WSGI application: bodies and answers wait in the loop, and threads do the work."""

    def __init__(
        self,
        application: Application,
        *,
        threads: int,
        note: Callable[[Any, WSGIEnvironment, Any], None],
        largest_bytes: int,
        is_behind_proxy: bool,
    ) -> None:
        self.application, self.note, self.largest_bytes = application, note, largest_bytes
        self.pool = ThreadPoolExecutor(threads, "web")
        self.disk = ThreadPoolExecutor(4, "disk")
        # One for readiness, which may take as long as the database; one is always free.
        self.health = ThreadPoolExecutor(2, "health")
        self.host, self.port = "127.0.0.1", 80
        self.exchanges: set[Exchange] = set()
        self._waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._readiness: asyncio.Future[tuple[Answer, bytes]] | None = None
        self.http = Listener(
            self, idle_connection_timeout=KEEP_ALIVE_S, max_header_size=HEAD_BYTES, chunk_size=SENT_BYTES
        )
        self.http.limit(most=_most_connections(), each_alike=not is_behind_proxy)

    def listen(self, sockets: Sequence[socket.socket]) -> None:
        """Accept connections on these, and sweep out slow bodies."""
        for each in sockets:
            each.setblocking(False)
            if each.family in (socket.AF_INET, socket.AF_INET6):
                self.host, self.port = each.getsockname()[:2]
        self.http.add_sockets(list(sockets))
        self.begin(self._sweep())

    def start_request(self, server_conn: object, request_conn: Any) -> HTTPMessageDelegate:
        assert isinstance(request_conn, HTTP1Connection), "the only protocol that is listened for"
        return Exchange(self, request_conn, client=getattr(request_conn.context, "remote_ip", ""))

    async def stop(self, within_s: float) -> None:
        """Accept nothing more, let those finish whose request has come, and close all connections."""
        self.http.stop()
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while any(each.is_begun for each in self.exchanges) and loop.time() < until:
            await asyncio.sleep(0.05)
        await self.http.close_all_connections()
        for task in self._tasks:
            task.cancel()
        for pool in (self.pool, self.disk, self.health):
            pool.shutdown(wait=False, cancel_futures=True)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this beside everything else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Done by a thread of the application."""
        self._waiting += 1
        try:
            return await self._done_by(self.pool, work, *arguments)
        finally:
            self._waiting -= 1

    async def in_disk_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Done by a thread that reads and writes files."""
        return await self._done_by(self.disk, work, *arguments)

    async def _done_by(self, pool: Executor, work: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)

    def run_application(self, environment: WSGIEnvironment) -> Answer:
        """Call the application, in a thread; answer with a plain sentence if even its error page fails."""
        try:
            return respond(self.application, environment)
        except Exception:
            log.exception("application_failed", path=environment["PATH_INFO"])
            return plain_answer(500, "fault", FAULT, path=environment["PATH_INFO"])

    def is_overloaded(self) -> bool:
        """True when so many requests wait for a thread that another one is better told so."""
        return self._waiting >= MOST_WAITING

    @staticmethod
    def overloaded_answer(path: str) -> Answer:
        """The answer that asks to come again later."""
        return plain_answer(503, "unavailable", UNAVAILABLE, path=path, headers=[("Retry-After", str(RETRY_AFTER_S))])

    # --- health, which needs no free thread -------------------------------------------------------------------------------
    def health_answer(self, environment: WSGIEnvironment) -> Awaitable[Answer] | None:
        """The answer to the two addresses of health; None for all others."""
        if environment["PATH_INFO"] not in (ALIVE, READY):
            return None
        return self._health(environment)

    async def _health(self, environment: WSGIEnvironment) -> Answer:
        """Answer health checks in threads of their own; those who ask for readiness at once share an answer."""
        if environment["PATH_INFO"] == ALIVE:
            return await self._done_by(self.health, self.run_application, environment)
        if self._readiness is None:
            self._readiness = asyncio.ensure_future(self._check_health(environment))
            self._readiness.add_done_callback(self._forget_readiness)
        answer, content = await asyncio.shield(self._readiness)
        return Answer(answer.status, answer.reason, answer.headers, BytesIO(content))

    async def _check_health(self, environment: WSGIEnvironment) -> tuple[Answer, bytes]:
        answer = await self._done_by(self.health, self.run_application, environment)
        with answer.content as content:
            return answer, content.read()

    def _forget_readiness(self, done: Any) -> None:
        self._readiness = None

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_S)
            for exchange in list(self.exchanges):
                exchange.give_up_if_slow(loop.time())


class Listener(HTTPServer):
    """Tornado's HTTP server with a limit on connections, and on those of one address."""

    def limit(self, *, most: int, each_alike: bool) -> None:
        """Set the limits. Behind a proxy, which counts by client, all connections have one address."""
        self._most, self._each = most, most // 4 if each_alike else most
        self._open: Counter[str] = Counter()

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        client = str(address[0]) if isinstance(address, tuple) else ""
        if self._open.total() >= self._most or self._open[client] >= self._each:
            stream.close()
            return
        self._open[client] += 1
        super().handle_stream(stream, address)

    def on_close(self, server_conn: Any) -> None:
        super().on_close(server_conn)
        client = server_conn.context.address
        self._open[str(client[0]) if isinstance(client, tuple) else ""] -= 1


def _most_connections() -> int:
    """The number of connections that this process may open files for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MOST_CONNECTIONS + FILES_BESIDES
    if soft < files:
        soft = files if hard == resource.RLIM_INFINITY else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(min(soft, files) - FILES_BESIDES, 16)

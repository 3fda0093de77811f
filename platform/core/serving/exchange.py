"""One request and its answer: admission, body, application in a thread, answer sent by the loop."""

import asyncio
import io
import tempfile
import time
from collections.abc import Coroutine
from concurrent.futures import Executor
from datetime import timedelta
from email.utils import formatdate
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, Final
from wsgiref.types import WSGIEnvironment

import structlog
from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine
from tornado.iostream import StreamClosedError

from core.serving.answers import Answer, plain_answer, refusal_answer
from core.serving.receiving import (
    ASKING,
    BODY_TOO_LARGE,
    UNASKED_BYTES,
    Admission,
    ReceivingFull,
    require_spool_room,
    spool_folder,
    spool_prefix,
)
from core.serving.requests import wsgi_environment

STALL_S: Final = 30.0  # without a byte
SMALL_S: Final = 30.0  # for a whole body of who may be anybody
ALLOWANCE_S: Final = 60.0
BYTES_PER_S: Final = 4096  # on average, beyond the allowance
LONGEST_S: Final = 24 * 3600.0
WRITTEN_BYTES: Final = 1024 * 1024  # at once
CHECKED_BYTES: Final = 32 * 1024 * 1024  # between two looks at what the whole site is receiving


class Body:
    """One body. Its file is written by threads of the disk, so that the loop never waits for it."""

    def __init__(self, admission: Admission, disk: Executor) -> None:
        self.admission, self._disk = admission, disk
        self.received = self._unchecked = 0
        self._pending = bytearray()
        self._file: IO[bytes] | None = None
        self._turn = asyncio.Lock()  # of what is written
        self.began = self.last_at = time.monotonic()

    def is_too_slow(self, now: float) -> bool:
        """True when it has come to a stop, or has come for longer than its bytes are worth."""
        allowed = SMALL_S if self.admission.room_bytes <= UNASKED_BYTES else ALLOWANCE_S + self.received / BYTES_PER_S
        return now - self.last_at > STALL_S or now - self.began > min(allowed, LONGEST_S)

    async def add(self, chunk: bytes) -> None:
        """Keep what came. Raises `ReceivingFull`, or `OSError` where the disk takes no more."""
        self.received += len(chunk)
        self._pending += chunk
        if len(self._pending) >= WRITTEN_BYTES:
            await self._write()
        self.last_at = time.monotonic()

    async def _write(self) -> None:
        async with self._turn:
            data, self._pending = self._pending, bytearray()
            await asyncio.get_running_loop().run_in_executor(self._disk, self._spool, data)

    def _spool(self, data: bytes | bytearray) -> None:
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile(dir=spool_folder(), prefix=spool_prefix(self.admission.sender))  # noqa: SIM115  # until `close`
        self._file.write(data)
        self._unchecked += len(data)
        if self._unchecked >= CHECKED_BYTES:
            self._unchecked = 0
            self._file.flush()
            require_spool_room(0, self.admission.sender, own_bytes=self._file.tell())

    async def opened(self, *, is_whole: bool) -> Any:
        """The body as `wsgi.input`, from its beginning; a truncated one ends in `OSError`."""
        if self.received > WRITTEN_BYTES:
            await self._write()
        content = io.BytesIO(bytes(self._pending)) if self._file is None else self._file
        content.seek(0)
        return content if is_whole else PartOfBody(content)

    def close(self) -> None:
        """Forget it."""
        self._pending.clear()
        if self._file is not None:
            self._file.close()


class PartOfBody(io.RawIOBase):
    """A body that broke off: what came of it, then the error that reading from its sender would have been."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._content.read(len(buffer))
        if not data:
            raise ConnectionResetError("the client stopped sending")
        buffer[: len(data)] = data
        return len(data)


if TYPE_CHECKING:
    from core.serving.server import SiteServer

log = structlog.get_logger(__name__)
SENT_BYTES: Final = 256 * 1024  # at once
SEND_S: Final = 60.0  # for each of these
# Who is refused is told when their body has come, else most clients see a cut connection; not for longer than this.
DISCARDED_BYTES: Final = 64 * 1024 * 1024
DISCARD_S: Final = 10.0
SLOW: Final = "The request came too slowly, or stopped coming, and was given up. Send it again."
DISK: Final = "The site's disk is full. Nothing was kept; send it again later, or tell the administrators."


class Exchange(HTTPMessageDelegate):
    """Methods that the connection calls as the request comes."""

    def __init__(self, server: "SiteServer", connection: HTTP1Connection, *, client: str) -> None:
        self.server, self.connection, self.client = server, connection, client
        self.environment: WSGIEnvironment = {}
        self.body: Body | None = None
        self.refused: Answer | None = None  # what is answered in place of taking the body
        self.discarded, self.refused_at = 0, 0.0
        self.is_begun = False
        self.began = time.monotonic()

    @property
    def path(self) -> str:
        return str(self.environment["PATH_INFO"])

    # --- the request comes --------------------------------------------------------------------------------------------
    async def headers_received(self, start_line: Any, headers: HTTPHeaders) -> None:
        assert isinstance(start_line, RequestStartLine), "a server gets requests"
        self.began = time.monotonic()
        self.environment = wsgi_environment(
            start_line, headers, client=self.client, host=self.server.host, port=self.server.port
        )
        length = _length(headers)
        if length == 0:
            return
        self.connection.set_max_body_size(max(length or 0, DISCARDED_BYTES, self.server.largest_bytes))
        self.server.exchanges.add(self)
        if length is not None and length <= UNASKED_BYTES:
            self.body = Body(Admission(UNASKED_BYTES), self.server.disk)
            return
        answer = await self._ask_for_body()
        if answer.admission is None and "HTTP_EXPECT" in self.environment:  # its sender waits with the body
            self.is_begun = True
            await self._close_on_fault(self._send(answer))
        elif answer.admission is None:
            self._refuse(answer)
        else:
            answer.content.close()
            self.body = Body(answer.admission, self.server.disk)

    async def _ask_for_body(self) -> Answer:
        """The application's answer to the body before it comes."""
        return await self.server.in_thread(
            self.server.run_application, self.environment | {ASKING: True, "wsgi.input": io.BytesIO()}
        )

    def _refuse(self, answer: Answer) -> None:
        """Answer this when the rest of the body has come, or enough of it."""
        if self.body is not None:
            self.body.close()
            self.body = None
        self.refused, self.refused_at = answer, time.monotonic()

    async def data_received(self, chunk: bytes) -> None:
        if self.is_begun:
            return
        if self.body is not None:
            await self._keep(self.body, chunk)
            return
        self.discarded += len(chunk)
        if self.discarded > DISCARDED_BYTES and self.refused is not None:
            self._begin(self._send(self.refused))

    async def _keep(self, body: Body, chunk: bytes) -> None:
        limit = body.admission.room_bytes
        if body.received + len(chunk) > limit:  # it came without a length
            too_large = BODY_TOO_LARGE(size_bytes=body.received + len(chunk), limit_bytes=limit)
            self._refuse(refusal_answer(too_large, self.path))
            return
        try:
            await body.add(chunk)
        except ReceivingFull as refusal:
            self._refuse(refusal_answer(refusal, self.path))
        except OSError as error:
            log.error("body_not_kept", error=str(error))
            self._refuse(plain_answer(507, "storage_full", DISK, path=self.path))

    def finish(self) -> None:
        """The request is there whole."""
        if self.is_begun:
            return
        self._begin(self._send(self.refused) if self.refused is not None else self._answer(is_whole=True))

    def on_connection_close(self) -> None:
        """The client is gone; what it sent of an upload is kept, for it to go on from there."""
        if self.is_begun:
            return
        if self.body is not None and self.body.admission.keeps_part and self.body.received:
            self._begin(self._answer(is_whole=False))
        else:
            self._over()

    def give_up_if_slow(self, now: float) -> None:
        """End the wait for a body that comes too slowly."""
        if self.is_begun:
            return
        if self.refused is not None:
            if now - self.refused_at > DISCARD_S:
                self._begin(self._send(self.refused))
        elif self.body is not None and self.body.is_too_slow(now):
            if self.body.admission.keeps_part and self.body.received:
                self._begin(self._answer(is_whole=False))
            else:
                self._begin(self._send(plain_answer(408, "too_slow", SLOW, path=self.path)))

    # --- the answer ---------------------------------------------------------------------------------------------------
    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin the answer: from here on nothing more of the body is taken."""
        self.is_begun = True
        self.server.exchanges.add(self)
        self.server.begin(self._close_on_fault(work))

    async def _close_on_fault(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (StreamClosedError, TimeoutError):  # the client is gone, or takes nothing
            self.connection.close()
        except Exception:
            log.exception("exchange_failed", path=self.path)
            self.connection.close()
        finally:
            self._over()

    async def _answer(self, *, is_whole: bool) -> None:
        server, environment = self.server, self.environment
        environment["wsgi.input"] = await self.body.opened(is_whole=is_whole) if self.body is not None else io.BytesIO()
        if self.body is not None and is_whole:
            environment["CONTENT_LENGTH"] = str(self.body.received)
        if (by_itself := server.health_answer(environment)) is not None:
            answer = await by_itself
        elif server.is_overloaded():
            answer = server.overloaded_answer(self.path)
        else:
            answer = await server.in_thread(self._respond)
        await self._send(answer)

    def _respond(self) -> Answer:
        """Answer, in a thread; nothing is done for who has gone, unless what they sent is to be kept."""
        if self.connection.stream.closed() and not (self.body is not None and self.body.admission.keeps_part):
            raise StreamClosedError
        return self.server.run_application(self.environment)

    async def _send(self, answer: Answer) -> None:
        sent = 0
        try:
            self._send_head(answer)
            if self.environment["REQUEST_METHOD"] != "HEAD":
                sent = await self._send_content(answer)
            self.connection.finish()
        finally:
            await self.server.in_disk_thread(answer.content.close)
            self._log(answer, sent)

    def _send_head(self, answer: Answer) -> None:
        headers = HTTPHeaders()
        for name, value in answer.headers:
            headers.add(name, value.strip())
        headers["Date"] = formatdate(usegmt=True)
        self.connection.write_headers(ResponseStartLine("HTTP/1.1", answer.status, answer.reason), headers)

    async def _send_content(self, answer: Answer) -> int:
        sent = 0
        while chunk := await self.server.in_disk_thread(answer.content.read, SENT_BYTES):
            await asyncio.wait_for(self.connection.write(chunk), SEND_S)
            sent += len(chunk)
        return sent

    def _over(self) -> None:
        if self.body is not None:
            self.body.close()
        self.server.exchanges.discard(self)

    def _log(self, answer: Answer, sent: int) -> None:
        response = SimpleNamespace(status=f"{answer.status} {answer.reason}", sent=sent, headers=answer.headers)
        self.server.note(response, self.environment, timedelta(seconds=time.monotonic() - self.began))


def _length(headers: HTTPHeaders) -> int | None:
    """The body's length: None in chunks, 0 without a body or where the connection refuses the header."""
    if "Transfer-Encoding" in headers:
        return None
    text = headers.get("Content-Length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0

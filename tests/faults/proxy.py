"""An HTTP proxy between a worker and the site that loses, cuts, repeats and delays calls."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HOP_HEADERS = {"connection", "keep-alive", "transfer-encoding", "host", "date", "server"}
LATE_S = 1.0
Answer = tuple[int, list[tuple[str, str]], bytes]


@dataclass(frozen=True)
class Message:
    """One request; a handler's own fields belong to the next one by the time a late copy is sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Proxy(ThreadingHTTPServer):
    """Forwards to `upstream`. `mode` says what goes wrong:

    `down` nothing passes; `cut` outputs break off in the middle, `cuts` times; `deaf` every second request arrives and its
    answer is lost; `small` outputs are too large for it;
    `twice` each request arrives twice; `late` a copy of each request arrives a second later, out of order.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.mode = ""
        self.cuts = 0
        self.passed = 0
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the site for the worker."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        """End it."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A worker that was killed leaves its connections in the middle: nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *arguments: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self._pass()

    do_POST = do_PUT = do_GET  # noqa: N815  the standard library's names

    def _pass(self) -> None:
        proxy = self.server
        proxy.passed += 1
        length = int(self.headers.get("Content-Length") or 0)
        if proxy.mode == "down":
            self.close_connection = True
            return
        if proxy.mode == "cut" and self.command == "PUT" and proxy.cuts > 0:
            proxy.cuts -= 1
            self._cut(length)
            return
        if proxy.mode == "small" and self.command == "PUT":
            self.rfile.read(length)
            self._answer(413, [("Content-Type", "text/html")], b"<h1>413 Request Entity Too Large</h1>")
            return
        try:
            message = Message(self.command, self.path, dict(self._kept_headers()), self.rfile.read(length))
            answer = self._forward(message)
            if proxy.mode == "twice":
                answer = self._forward(message)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
            return
        if proxy.mode == "late":
            threading.Timer(LATE_S, self._forward_late, [message]).start()
        if proxy.mode == "deaf" and proxy.passed % 2:
            self.close_connection = True
            return
        self._answer(*answer)

    def _cut(self, length: int) -> None:
        """Half of the body reaches the site, then both connections break."""
        half = self.rfile.read(length // 2)
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=60)
        with contextlib.suppress(OSError):
            upstream.putrequest(self.command, self.path)
            for name, value in self._kept_headers():
                upstream.putheader(name, value)
            upstream.endheaders(half)
        upstream.close()
        self.close_connection = True

    def _kept_headers(self) -> Iterable[tuple[str, str]]:
        return [(name, value) for name, value in self.headers.items() if name.lower() not in HOP_HEADERS]

    def _forward(self, message: Message) -> Answer:
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=30)
        try:
            upstream.request(message.method, message.path, message.body or None, message.headers)
            answer = upstream.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            upstream.close()

    def _forward_late(self, message: Message) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._forward(message)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in HOP_HEADERS | {"content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

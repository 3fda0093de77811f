"""Connections to the web server, as it is started for the demo and in production."""

from __future__ import annotations

import asyncio
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from urllib.request import urlopen

import pytest
from tornado.httputil import HTTPHeaders, RequestStartLine

from config.demo.processes import web_command
from core.serving.requests import wsgi_environment
from core.serving.server import KEEP_ALIVE_S, SiteServer
from tests.services import REPOSITORY


def test_the_demo_is_served_as_production_is() -> None:
    demo = web_command(8000)
    production = runpy.run_path(str(REPOSITORY / "docker" / "gunicorn.conf.py"))
    assert demo[demo.index("--worker-class") + 1] == production["worker_class"]


def test_a_process_of_the_site_loads_no_library_of_tables() -> None:
    """It would take a tenth of the start and 28 MB; it is loaded where tables are read."""
    script = "import sys, config.wsgi, config.urls; print(sorted({'polars', 'sklearn', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_server_closes_an_idle_connection_later_than_a_compute_worker_asks_again(settings: Any) -> None:
    assert max(settings.WORKER_POLL_S, settings.HEARTBEAT_S, settings.LEASE_S / 3) < KEEP_ALIVE_S


def test_health_answers_while_every_thread_works_and_those_who_work_are_waited_for_at_the_end() -> None:
    released, begun = threading.Event(), threading.Semaphore(0)

    def application(environment: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environment["PATH_INFO"] == "/slow":
            begun.release()
            released.wait(60)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [environment["PATH_INFO"].encode()]

    async def serve(listening: socket.socket, ended: threading.Event) -> None:
        server = SiteServer(
            application, threads=2, note=lambda *notes: None, largest_bytes=10**9, is_behind_proxy=False
        )
        server.listen([listening])
        await asyncio.to_thread(ended.wait, 60)
        await server.stop(60)

    def read(path: str) -> bytes:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            content: bytes = answer.read()
            return content

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(8) as pool:
        port, ended = listening.getsockname()[1], threading.Event()
        served = pool.submit(asyncio.run, serve(listening, ended))
        slow = [pool.submit(read, "/slow") for _ in range(2)]
        assert all(begun.acquire(timeout=60) for _ in slow)
        slow.append(pool.submit(read, "/slow"))  # which waits for a thread
        assert [read(path) for path in ("/healthz", "/readyz", "/healthz")] == [b"/healthz", b"/readyz", b"/healthz"]
        ended.set()
        released.set()
        assert [each.result(60) for each in slow] == [b"/slow"] * 3
        served.result(60)


@pytest.mark.parametrize(("is_behind_proxy", "taken"), [(False, 2), (True, 8)])
def test_one_address_has_a_quarter_of_the_connections_and_gets_others_when_it_ends_some(
    is_behind_proxy: bool, taken: int
) -> None:
    def application(environment: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"here"]

    async def serve(listening: socket.socket, over: threading.Event) -> None:
        server = SiteServer(
            application, threads=2, note=lambda *notes: None, largest_bytes=10**9, is_behind_proxy=is_behind_proxy
        )
        server.http.limit(most=8, each_alike=not is_behind_proxy)
        server.listen([listening])
        await asyncio.to_thread(over.wait, 60)
        await server.stop(60)

    def is_answered(client: socket.socket) -> bool:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try:
            return client.recv(1000).startswith(b"HTTP/1.1 200")
        except ConnectionError:
            return False

    def is_answered_soon() -> bool:
        for _ in range(100):  # the server hears of an end a moment later
            with socket.create_connection(address, 60) as client:
                if is_answered(client):
                    return True
            time.sleep(0.1)
        return False

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        address, over = listening.getsockname(), threading.Event()
        served = pool.submit(asyncio.run, serve(listening, over))
        clients = [stack.enter_context(socket.create_connection(address, 60)) for _ in range(10)]
        answered = [is_answered(client) for client in clients]
        clients[0].close()
        again = is_answered_soon()
        over.set()
        served.result(60)
    assert answered == [True] * taken + [False] * (10 - taken)
    assert again


def environment(target: str, *fields: tuple[str, str]) -> dict[str, Any]:
    headers = HTTPHeaders()
    for name, value in fields:
        headers.add(name, value)
    line = RequestStartLine("GET", target, "HTTP/1.1")
    return wsgi_environment(line, headers, client="192.0.2.1", host="127.0.0.1", port=8000)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/a%20b/%C3%A9?x=%20&y", "/a b/\u00c3\u00a9", "x=%20&y"),
        ("http://other.example/a?b", "/a", "b"),
        ("http://other.example", "/", ""),
        ("//host/a", "//host/a", ""),
        ("/a?b?c", "/a", "b?c"),
    ],
)
def test_a_target_becomes_path_and_query_as_wsgi_has_them(target: str, path: str, query: str) -> None:
    wsgi = environment(target)
    assert (wsgi["PATH_INFO"], wsgi["QUERY_STRING"], wsgi["SCRIPT_NAME"]) == (path, query, "")


def test_no_header_passes_for_another_by_an_underscore() -> None:
    wsgi = environment(
        "/", ("X_Forwarded_Proto", "https"), ("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-For", "10.0.0.2")
    )
    assert "HTTP_X_FORWARDED_PROTO" not in wsgi
    assert wsgi["HTTP_X_FORWARDED_FOR"] == "10.0.0.1,10.0.0.2"


def test_cookies_of_several_headers_are_one_list() -> None:
    assert environment("/", ("Cookie", "a=1"), ("Cookie", "b=2"))["HTTP_COOKIE"] == "a=1; b=2"

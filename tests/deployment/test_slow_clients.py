"""Clients that begin a request and do not end it hold up nobody, where no front stands before the site: as `make demo` serves."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from config.demo.processes import web_command
from core.patient import ALLOWANCE_S, BYTES_PER_S, STALL_S, PatientSocket, TooSlow
from tests.services import REPOSITORY, accepts_connections, free_port

COUNT = 40
ANSWERS_WITHIN_S = STALL_S / 2  # nobody waits for those who stall
BEGUN = {
    "nothing": b"",
    "an answer that is not taken": b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
    "half a header": b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le",
    "half a body": b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\nlogin=a",
}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a site that is served as the demo serves it."""
    folder: Path = tmp_path_factory.mktemp("slow")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PODIUM", "DATABASE", "DJANGO"))
    }
    environment |= {"PODIUM_DATA_DIR": str(folder / "data"), "DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=REPOSITORY, env=environment, check=True)
    port = free_port()
    with subprocess.Popen(web_command(port), cwd=REPOSITORY, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            while not accepts_connections(port):
                time.sleep(0.1)
            with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=60):
                yield port
        finally:
            server.terminate()


@pytest.mark.parametrize("sent", BEGUN.values(), ids=list(BEGUN))
def test_a_site_without_a_front_answers_while_requests_are_half_sent(port: int, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(COUNT):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))
            client.sendall(sent)
        took = []
        for _ in range(10):
            began = time.monotonic()
            with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as answer:
                assert answer.status == 200
            took.append(time.monotonic() - began)
    assert max(took) < ANSWERS_WITHIN_S, took


def test_a_client_that_stalls_is_let_go(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=STALL_S + 10) as client:
        client.sendall(BEGUN["half a body"])
        assert client.recv(1000).startswith((b"HTTP/1.1 4", b"")), "refused or closed"


def test_a_client_that_trickles_is_let_go_and_one_that_is_merely_slow_is_not() -> None:
    ours, theirs = socket.socketpair()
    with PatientSocket(fileno=ours.detach()) as patient, theirs:
        patient.setblocking(True)
        theirs.sendall(b"xx")
        patient.waited_s, patient.moved_bytes = ALLOWANCE_S + 90, 100 * BYTES_PER_S
        assert patient.recv(1) == b"x"
        patient.waited_s = ALLOWANCE_S + 101
        with pytest.raises(TooSlow):
            patient.recv(1)

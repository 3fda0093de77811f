"""Clients that send slowly, or stop, delay nobody on a site without a front, as in `make demo`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import requests

from config.demo.processes import web_command
from core.serving.exchange import ALLOWANCE_S, BYTES_PER_S, LONGEST_S, SMALL_S, STALL_S, Body
from core.serving.receiving import UNASKED_BYTES, Admission
from tests import migrated
from tests.services import REPOSITORY, accepts_connections, free_port
from tests.soak import mostly_in_soak

THREADS = 16
COUNT = 12 * THREADS
LASTING_S = 6
BETWEEN_ASKS_S = 0.25  # else the site answers one page after the other all the time, which proves no more
ANSWERS_WITHIN_S = 20.0  # who waits for a slow client waits half a minute
SEED = """
import json
from datetime import timedelta
from django.core.management import call_command
from django.utils import timezone
from accounts.models import token_create
from competitions.resources.uploads import upload_begin
from tests.scenario import scenario
call_command("collectstatic", interactive=False, verbosity=0)
site = scenario(now=timezone.now(), max_submissions_per_day=None)
user = site.member(site.join("Team"))
token = token_create(user=user, name="t", scopes=["read", "submit"], expires_at=site.now + timedelta(days=1))[1]
upload = upload_begin(user=user, file_name="a.zip", size_bytes=50_000_000, now=timezone.now())
print(json.dumps({"slug": site.competition.slug, "token": token, "upload": str(upload.key)}))
"""


@dataclass(frozen=True)
class Served:
    """A site that is served as the demo serves it, with a person who is uploading something."""

    port: int
    folder: Path
    slug: str
    token: str
    upload: str

    def asks(self) -> list[str]:
        board = f"/competitions/{self.slug}/leaderboard/"
        return [f"http://127.0.0.1:{self.port}{path}" for path in ("/healthz", "/readyz", "/accounts/login/", board)]

    def head(self, line: str, length: int, *more: str) -> bytes:
        fields = (f"{line} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}", *more)
        return "\r\n".join([*fields, "", ""]).encode()

    def form(self, length: int) -> bytes:
        cookie = f"Cookie: csrftoken={32 * 'a'}"  # with it, the site looks for the form's own secret in the body
        head = self.head("POST /accounts/login/", length, "Content-Type: multipart/form-data; boundary=x", cookie)
        return head + b"--x\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n"

    def form_in_chunks(self) -> bytes:
        head = self.form(0).partition(b"\r\n\r\n")[0]
        return head.replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + b"\r\n\r\nffff\r\n"

    def part(self, length: int) -> bytes:
        described = ("Content-Type: application/offset+octet-stream", "Upload-Offset: 0")
        return self.head(
            f"PATCH /api/v1/uploads/{self.upload}/", length, f"Authorization: Bearer {self.token}", *described
        )

    def received_bytes(self) -> list[int]:
        return [path.stat().st_size for path in (self.folder / "uploads").glob("receiving-*")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("slow")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PODIUM", "DATABASE", "DJANGO"))
    }
    environment |= {
        "PODIUM_DATA_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/platform",
    }

    migrated.sqlite(folder / "podium.sqlite3")
    argv = [sys.executable, "manage.py", "shell", "-v0", "-c", SEED]
    done = subprocess.run(argv, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True)
    seeded = json.loads(done.stdout.splitlines()[-1])
    port = free_port()
    with subprocess.Popen(web_command(port), cwd=REPOSITORY, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            while not accepts_connections(port):
                time.sleep(0.1)
            site = Served(port, folder, **seeded)
            for url in site.asks():  # so that everything has been loaded once
                urlopen(url, timeout=60).close()
            yield site
        finally:
            server.terminate()


ALWAYS = (
    "an answer that is not taken",
    "a form that trickles",
    "a form without a length",
    "an upload that stops after a burst",
)
BEGUN: dict[str, tuple[Callable[[Served], bytes], int]] = {  # what is sent at once, then in each second
    "nothing": (lambda site: b"", 0),
    "a head that does not end": (lambda site: b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", 10),
    # Three megabytes, so that each sends until nobody takes more.
    "an answer that is not taken": (lambda site: site.head("GET /static/podium/vendor/chart.js", 0) * 20, 0),
    "a form that trickles": (lambda site: site.form(10_000_000), 1200),
    "a small form that trickles": (lambda site: site.form(60_000), 1200),
    "a form that stops after a burst": (lambda site: site.form(10_000_000) + bytes(400_000), 0),
    "a form without a length": (lambda site: site.form_in_chunks(), 20),
    "an upload that trickles": (lambda site: site.part(40_000_000), 1200),
    "an upload that stops after a burst": (lambda site: site.part(40_000_000) + bytes(400_000), 0),
}


@pytest.mark.parametrize("name", mostly_in_soak(BEGUN, always=ALWAYS))
def test_health_and_pages_answer_while_many_more_clients_than_threads_are_slow(served: Served, name: str) -> None:
    begin, per_second = BEGUN[name]
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", served.port), 5)) for _ in range(COUNT)]
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            with suppress(OSError):  # as much as the connection takes
                client.send(begin(served))
        answers = pool.submit(watched, served.asks(), until=time.monotonic() + LASTING_S)
        while not answers.done():
            for client in clients:
                with suppress(OSError):
                    client.send(b"a" * per_second)
            time.sleep(1)
        took = answers.result()
        if name == "an answer that is not taken":
            assert answers_under_way(served.port) == COUNT
    assert len(took) > 4
    assert max(took) < ANSWERS_WITHIN_S, sorted(took)[-5:]


def answers_under_way(port: int) -> int:
    """Connections of this server whose clients do not take what it has for them, by the kernel's count."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and int(row[4].partition(":")[0], 16) > 0 for row in rows)


def answers(url: str) -> bool:
    """True for an answer; False for a page that asks to come again, which health checks must not."""
    answer = requests.get(url, timeout=60)
    if answer.status_code == 200:
        return True
    assert (answer.status_code, "Retry-After" in answer.headers) == (503, True), url
    assert not url.endswith(("/healthz", "/readyz"))
    return False


def watched(urls: list[str], *, until: float) -> list[float]:
    """Ask all in turn until this time, at least once; how long each answer took."""
    took: list[float] = []
    while time.monotonic() < until or len(took) < 2 * len(urls):
        for url in urls:
            began = time.monotonic()
            while not answers(url):
                assert time.monotonic() < began + ANSWERS_WITHIN_S
                time.sleep(0.2)
            took.append(time.monotonic() - began)
            time.sleep(BETWEEN_ASKS_S)
    return took


def test_nothing_of_a_large_body_of_nobody_is_kept_and_its_sender_is_told(served: Served) -> None:
    boundary = b"--x\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n"
    head = served.head("POST /api/api-token-auth/", 30_000_000, "Content-Type: multipart/form-data; boundary=x")
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(head + boundary + bytes(20_000_000))
        assert served.received_bytes() == []
        client.sendall(bytes(10_000_000 - len(boundary)))
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_small_body_that_never_ends_is_given_up_after_a_time_however_it_trickles(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(served.form(60_000))
        client.settimeout(1)
        began = time.monotonic()
        while time.monotonic() < began + SMALL_S + 30:
            client.sendall(b"a")
            with suppress(TimeoutError):
                assert client.recv(100).startswith(b"HTTP/1.1 408 ")
                break
        assert time.monotonic() - began < SMALL_S + 30


def test_what_came_of_an_upload_is_kept_when_its_sender_goes_away(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(served.part(40_000_000) + bytes(3_000_000))
    url = f"http://127.0.0.1:{served.port}/api/v1/uploads/{served.upload}/"
    give_up, received = time.monotonic() + 60, 0
    while received == 0 and time.monotonic() < give_up:
        with urlopen(Request(url, headers={"Authorization": f"Bearer {served.token}"}), timeout=60) as answer:
            received = json.load(answer)["received_bytes"]
    assert 0 < received <= 3_000_000


def test_a_body_may_take_as_long_as_its_bytes_are_worth_and_never_stall() -> None:
    with ThreadPoolExecutor(1) as disk:
        small, large = Body(Admission(UNASKED_BYTES), disk), Body(Admission(10**12), disk)
        began = large.began
        large.received, large.last_at = 100 * BYTES_PER_S, began + ALLOWANCE_S + 99
        assert not large.is_too_slow(began + ALLOWANCE_S + 99)
        assert large.is_too_slow(began + ALLOWANCE_S + 101)
        large.received, large.last_at = 10**12, began + 1
        assert large.is_too_slow(began + STALL_S + 2), "a burst buys no silence"
        large.last_at = began + LONGEST_S
        assert large.is_too_slow(began + LONGEST_S + 1)
        small.received, small.last_at = UNASKED_BYTES - 1, small.began + SMALL_S
        assert small.is_too_slow(small.began + SMALL_S + 1)

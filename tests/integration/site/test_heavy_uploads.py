"""Uploads that are heavy for a site as in production.

A large file goes to the disk, not to memory; in `make soak` it has two gigabytes. Many archives that take a second of a core
or more to read come at once: health, pages and the workers' API go on answering.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from config.demo.processes import background_command
from core.background.jobs import Queue
from tests.bombs import zip_of_zeros
from tests.migrated import postgres_database
from tests.services import REPOSITORY, accepts_connections, free_port
from tests.soak import SOAKS
from workers.protocol.messages import PROTOCOL_VERSION

UPLOADS, AT_ONCE, TEAMS = 50 if SOAKS else 12, 8, 5
UNPACKED_MIB = 800 if SOAKS else 400
LARGE_BYTES = (2048 if SOAKS else 400) * 1024**2
LIMIT_BYTES = 300 * 1024**2
WATCHED_S = 5 if SOAKS else 2  # after the last upload
SEED = """
import json
from datetime import timedelta
from django.core.management import call_command
from django.utils import timezone
from accounts.models import token_create
from tests.scenario import scenario
call_command("collectstatic", verbosity=0, interactive=False)
site = scenario(now=timezone.now(), max_submissions_per_day=None, prediction_format=None)
tokens = []
for number in range({teams}):
    user = site.member(site.join(f"Team {{number}}"))
    tokens.append(token_create(user=user, name="t", scopes=["read", "submit"], expires_at=site.now + timedelta(days=1))[1])
print(json.dumps({{"phase": site.phase.pk, "slug": site.competition.slug, "tokens": tokens, "queue": site.token}}))
"""


@dataclass
class Served:
    """A site with its background process, and people on it."""

    port: int
    web: psutil.Process
    phase: int
    slug: str
    tokens: list[str]
    queue: str

    @property
    def url(self) -> str:
        """Address of the site."""
        return f"http://127.0.0.1:{self.port}"

    def submit(self, token: str, content: bytes) -> requests.Response:
        form = {"phase": str(self.phase), "kind": "code"}
        headers = {"Authorization": f"Bearer {token}"}
        files = {"file": ("code.zip", content)}
        return requests.post(f"{self.url}/api/v1/submissions/", data=form, files=files, headers=headers, timeout=300)

    def listed(self) -> list[dict[str, Any]]:
        """The submissions of all teams, each as its own team sees them."""
        rows: list[dict[str, Any]] = []
        for token in self.tokens:
            headers = {"Authorization": f"Bearer {token}"}
            rows += requests.get(f"{self.url}/api/v1/submissions/", headers=headers, timeout=60).json()["results"]
        return rows


@pytest.fixture(scope="module")
def served(postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Gunicorn as in production, PostgreSQL, Redis and one background process."""
    folder = tmp_path_factory.mktemp("site")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PODIUM", "DATABASE", "DJANGO"))
    }
    environment |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PODIUM_DATA_DIR": str(folder),
        "PODIUM_SECRET_KEY": "x" * 40,
        "PODIUM_ALLOWED_HOSTS": "127.0.0.1",
        "PODIUM_BROKER_URL": f"{redis_url.rsplit('/', 1)[0]}/3",
        "PODIUM_API_RATE_ANON": "100000/min",
        "DATABASE_URL": postgres_database(postgres_url, f"uploads_{uuid.uuid4().hex[:8]}"),
        "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/platform",
    }

    def manage(*words: str) -> str:
        argv = [sys.executable, "manage.py", *words]
        return subprocess.run(argv, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True).stdout

    seeded = json.loads(manage("shell", "-v0", "-c", SEED.format(teams=TEAMS)).splitlines()[-1])
    port = free_port()
    web = [
        sys.executable,
        "-m",
        "gunicorn",
        "--config",
        "docker/gunicorn.conf.py",
        "--bind",
        f"127.0.0.1:{port}",
        "config.wsgi",
    ]
    with ExitStack() as stack:
        started = []
        # Told to end, the background process would read an archive to its end first.
        for argv, end in ((web, subprocess.Popen.terminate), (background_command(Queue.SHORT), subprocess.Popen.kill)):
            log = stack.enter_context((folder / f"{len(argv)}.log").open("wb"))
            process = stack.enter_context(
                subprocess.Popen(argv, cwd=REPOSITORY, env=environment, stdout=log, stderr=log)
            )
            stack.callback(end, process)
            started.append(process)
        while not accepts_connections(port):
            time.sleep(0.1)
        yield Served(port, psutil.Process(started[0].pid), **seeded)


def most_memory(process: psutil.Process) -> int:
    """The most bytes that one of the server's processes has ever held, as the kernel notes it."""
    texts = [Path(f"/proc/{each.pid}/status").read_text() for each in [process, *process.children()]]
    return max(int(text.split("VmHWM:")[1].split()[0]) for text in texts) * 1024


def test_a_large_file_goes_to_disk_while_the_web_process_stays_small(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.tokens[0]}"}
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=200)
    announced = json.dumps({"file_name": "x.zip", "size_bytes": LARGE_BYTES})
    connection.request("POST", "/api/v1/uploads/", announced, headers | {"Content-Type": "application/json"})
    upload = json.loads(connection.getresponse().read())
    server_processes = {child.pid for child in served.web.children()}
    try:
        chunk = bytes(8 << 20)
        sent = headers | {
            "Content-Type": "application/offset+octet-stream",
            "Upload-Offset": "0",
            "Content-Length": str(LARGE_BYTES),
        }
        parts = (chunk for _ in range(LARGE_BYTES // len(chunk)))
        connection.request("PATCH", f"/api/v1/uploads/{upload['key']}/", parts, sent)
        answer = connection.getresponse()
        body = json.loads(answer.read())
    finally:
        connection.close()
    assert (answer.status, body["received_bytes"]) == (200, LARGE_BYTES)
    assert {child.pid for child in served.web.children()} == server_processes, "none was replaced meanwhile"
    assert 0 < most_memory(served.web) < LIMIT_BYTES, f"{most_memory(served.web) >> 20} MiB"


def watch(asks: list[Callable[[], requests.Response]], stop: threading.Event, took: list[float]) -> None:
    """Ask one after the other until told to stop; notes how long each answer took."""
    while not stop.wait(0.2):
        for ask in asks:
            began = time.monotonic()
            assert ask().status_code < 400
            took.append(time.monotonic() - began)


def test_health_pages_and_workers_are_answered_while_many_hostile_archives_come(served: Served) -> None:
    padding = os.urandom(64 * UNPACKED_MIB)  # so that the ratio alone does not give it away
    files = {"metadata.yaml": b"command: python predict.py\n", "padding.bin": padding}
    content = zip_of_zeros("weights.bin", UNPACKED_MIB, files)
    described = {"protocol": PROTOCOL_VERSION, "name": "w", "instance": "i", "version": "1", "host": {}}
    worker = {"Authorization": f"Bearer {served.queue}"}
    asks: list[Callable[[], requests.Response]] = [
        lambda: requests.get(f"{served.url}/healthz", timeout=60),
        lambda: requests.get(f"{served.url}/competitions/{served.slug}/", timeout=60),
        lambda: requests.post(f"{served.url}/api/worker/v1/register", json=described, headers=worker, timeout=60),
    ]
    for ask in asks:
        assert ask().status_code < 400, ask().text
    took: list[float] = []
    stop = threading.Event()
    with ThreadPoolExecutor(AT_ONCE + 1) as pool:
        watching = pool.submit(watch, asks, stop, took)
        tokens = [served.tokens[number % TEAMS] for number in range(UPLOADS)]
        answers = list(pool.map(lambda token: served.submit(token, content), tokens))
        stop.wait(WATCHED_S)
        stop.set()
        watching.result()
    assert [answer.status_code for answer in answers] == [201] * UPLOADS
    assert statistics.quantiles(took, n=20)[-1] < 3.0, sorted(took)[-10:]
    assert max(took) < 10.0, sorted(took)[-10:]
    until = time.monotonic() + 120
    while not (ended := [row for row in served.listed() if row["status"] == "failed"]):
        assert time.monotonic() < until, served.listed()[:2]
        time.sleep(0.5)
    assert ended[0]["runs"][0]["code"] == "zip_crc_error"

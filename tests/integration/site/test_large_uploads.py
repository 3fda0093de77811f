"""An upload of 2 GB through the deployed web server: to the disk, not to memory."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from config.demo.processes import WORKER_CLASS
from tests.services import REPOSITORY, accepts_connections, free_port

SIZE_BYTES = 2 * 1024**3
LIMIT_BYTES = 300 * 1024**2
MAKE_TOKEN = """
from datetime import timedelta
from django.utils import timezone
from accounts.models import User, token_create
user = User.objects.create_user("captain", "captain@example.org", "x")
print(token_create(user=user, name="t", scopes=["read", "submit"], expires_at=timezone.now() + timedelta(days=1))[1])
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[int, str, psutil.Process]]:
    """Port, API token and process of a web server with a site of its own."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PODIUM", "DATABASE", "DJANGO"))
    }
    environment |= {"PODIUM_DATA_DIR": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "config.settings"}

    def manage(*words: str) -> str:
        argv = [sys.executable, "manage.py", *words]
        return subprocess.run(argv, cwd=REPOSITORY, env=environment, check=True, capture_output=True, text=True).stdout

    manage("migrate", "-v0")
    token = manage("shell", "-v0", "-c", MAKE_TOKEN).strip()
    port = free_port()
    argv = [sys.executable, "-m", "gunicorn", "config.wsgi", "--pythonpath", "platform", "--bind", f"127.0.0.1:{port}",
            "--workers", "1", "--threads", "4", "--worker-class", WORKER_CLASS]  # fmt: skip
    with subprocess.Popen(argv, cwd=REPOSITORY, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            while not accepts_connections(port):
                time.sleep(0.1)
            yield port, token, psutil.Process(server.pid)
        finally:
            server.terminate()


def note_largest(process: psutil.Process, stop: threading.Event, sizes: list[int]) -> None:
    """The most memory that one of the server's processes has held."""
    while not stop.wait(0.05):
        sizes.append(max(server_process.memory_info().rss for server_process in [process, *process.children()]))


def test_two_gigabytes_go_to_disk_while_the_web_process_stays_small(served: tuple[int, str, psutil.Process]) -> None:
    port, token, process = served
    headers = {"Authorization": f"Bearer {token}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=200)
    announced = json.dumps({"file_name": "x.zip", "size_bytes": SIZE_BYTES})
    connection.request("POST", "/api/v1/uploads/", announced, headers | {"Content-Type": "application/json"})
    upload = json.loads(connection.getresponse().read())
    seen: list[int] = []
    stop = threading.Event()
    watcher = threading.Thread(target=note_largest, args=(process, stop, seen))
    watcher.start()
    try:
        chunk = bytes(8 << 20)
        sent = headers | {
            "Content-Type": "application/offset+octet-stream",
            "Upload-Offset": "0",
            "Content-Length": str(SIZE_BYTES),
        }
        parts = (chunk for _ in range(SIZE_BYTES // len(chunk)))
        connection.request("PATCH", f"/api/v1/uploads/{upload['key']}/", parts, sent)
        answer = connection.getresponse()
        body = json.loads(answer.read())
    finally:
        stop.set()
        watcher.join()
        connection.close()
    assert (answer.status, body["received_bytes"]) == (200, SIZE_BYTES)
    assert 0 < max(seen) < LIMIT_BYTES, f"{max(seen) >> 20} MiB"

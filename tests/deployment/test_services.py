"""The tests' own services: started once, real, and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg2
import pytest
import redis

from tests import services
from tests.services import RUN_VARIABLE, ServiceError, Services


@pytest.fixture
def own(tmp_path: Path) -> Services:
    """Services of a run of its own, apart from those that the other tests use."""
    folder = tmp_path / "own"
    folder.mkdir()
    return Services(folder)


def test_several_processes_at_once_get_the_same_server(own: Services) -> None:
    try:
        with ThreadPoolExecutor(4) as pool:
            urls = set(pool.map(lambda _: Services(own.folder).redis(), range(4)))
        assert len(urls) == 1
        assert redis.Redis.from_url(urls.pop()).ping()
    finally:
        own.stop()


def test_stopping_ends_the_servers_and_removes_their_folder(own: Services) -> None:
    try:
        postgres, store = own.postgres(), own.redis()
        with contextlib.closing(psycopg2.connect(postgres)) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW fsync")
            assert cursor.fetchone() == ("off",)
    finally:
        own.stop()
    assert not own.folder.exists()
    assert [url for url in (postgres, store) if services.accepts_connections(urlsplit(url).port or 0)] == []


def test_what_a_killed_run_left_is_stopped_by_the_next_one(tmp_path: Path) -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(services.REPOSITORY)!r})
from pathlib import Path
from tests import services
folder = Path({str(tmp_path)!r}) / f"test-{{os.getpid()}}"
folder.mkdir()
print(services.Services(folder).redis(), flush=True)
os.kill(os.getpid(), 9)
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert killed.returncode == -9
    port = urlsplit(killed.stdout.strip()).port or 0
    assert services.accepts_connections(port)
    services.remove_leftovers(tmp_path)
    assert not services.accepts_connections(port)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_took_over_the_number_is_left_alone(own: Services) -> None:
    own.stop()
    other = subprocess.Popen(["sleep", "30"])
    try:
        services.stop_process(other.pid, "redis-server")
        assert psutil.Process(other.pid).status() != psutil.STATUS_ZOMBIE
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_server_that_cannot_start_says_why(own: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
    monkeypatch.setattr(services, "free_port", lambda: taken.getsockname()[1])
    try:
        with taken, pytest.raises(ServiceError, match=r"Redis did not start; the end of .*redis\.log"):
            own.redis()
    finally:
        own.stop()


def test_the_run_folder_is_announced_to_child_processes() -> None:
    assert os.environ[RUN_VARIABLE] == str(services.run_folder())

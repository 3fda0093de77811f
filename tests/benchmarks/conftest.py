"""Fixtures of the benchmarks: the site as it is deployed, in processes of its own."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.services import free_port


@pytest.fixture
def two_web_processes(postgres_url: str) -> Iterator[int]:
    """gunicorn with two processes on the test's own database; yields its port."""
    port = free_port()
    name = settings.DATABASES["default"]["NAME"]
    environment = os.environ | {
        "DATABASE_URL": postgres_url.rsplit("/", 1)[0] + f"/{name}",
        "PODIUM_SECRET_KEY": settings.SECRET_KEY,
        "PODIUM_ALLOWED_HOSTS": "127.0.0.1",
        "PODIUM_BROKER_URL": "memory://",
        "PODIUM_DATA_DIR": str(settings.DATA_DIR),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PODIUM_LOG_LEVEL": "ERROR",
        "PODIUM_API_RATE_ANON": "1000000/min",  # the load comes from one address
        "PODIUM_API_RATE_USER": "1000000/min",
    }
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, env=environment, cwd=settings.BASE_DIR, check=True)
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "config.wsgi",
        "--pythonpath",
        "platform",
        "--workers",
        "2",
        "--threads",
        "4",
    ]
    server = subprocess.Popen([*command, "--bind", f"127.0.0.1:{port}"], env=environment, cwd=settings.BASE_DIR)
    try:
        wait_until_ready(port)
        yield port
    finally:
        server.terminate()
        server.wait(15)


def wait_until_ready(port: int) -> None:
    for _ in range(200):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise TimeoutError("the web server did not become ready")

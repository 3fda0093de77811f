"""How the web server treats connections, as it is started for the demo and in production."""

from __future__ import annotations

import runpy
from typing import Any

from config.demo.processes import web_command
from core.patient import KEEP_ALIVE_S
from tests.services import REPOSITORY


def test_the_server_closes_an_idle_connection_later_than_a_compute_worker_asks_again(settings: Any) -> None:
    demo = web_command(8000)
    production = runpy.run_path(str(REPOSITORY / "docker" / "gunicorn.conf.py"))
    assert int(demo[demo.index("--keep-alive") + 1]) == production["keepalive"] == KEEP_ALIVE_S
    assert max(settings.WORKER_POLL_S, settings.HEARTBEAT_S, settings.LEASE_S / 3) < KEEP_ALIVE_S

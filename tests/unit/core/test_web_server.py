"""How the web server treats connections, as it is started for the demo and in production."""

from __future__ import annotations

import runpy

from config.demo.processes import web_command
from core.patient import KEEP_ALIVE_S
from tests.services import REPOSITORY

FRONT_KEEPS_S = 60  # nginx's default for connections to an upstream


def test_the_server_closes_an_idle_connection_later_than_those_who_may_still_use_it(settings: object) -> None:
    demo = web_command(8000)
    production = runpy.run_path(str(REPOSITORY / "docker" / "gunicorn.conf.py"))
    assert int(demo[demo.index("--keep-alive") + 1]) == production["keepalive"] == KEEP_ALIVE_S
    assert FRONT_KEEPS_S < KEEP_ALIVE_S
    assert (
        "keepalive_timeout"
        not in (REPOSITORY / "docker" / "front.conf").read_text().split("upstream site")[1].split("}")[0]
    )


def test_a_compute_worker_asks_again_before_its_connection_ends(settings: object) -> None:
    from django.conf import settings as site

    assert max(site.WORKER_POLL_S, site.HEARTBEAT_S, site.LEASE_S / 3) < KEEP_ALIVE_S

"""A site over HTTP on a real database, a person with a token, and a proxy that fails on demand."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, AnyStr

import pytest
import requests
from django.utils import timezone

from accounts.models import Scope, User, token_create
from competitions.catalog.models import Phase
from competitions.resources.models import Resource
from tests.background import background_running
from tests.calls import one_interpreter_for_calls
from tests.scenario import Scenario, person, resource, scenario, zip_bytes


@pytest.fixture
def site(transactional_db: None) -> Scenario:
    """A competition with a starting kit, whose only open phase takes any zip."""
    site = scenario(now=timezone.now())
    Phase.objects.filter(pk=site.sealed.pk).delete()
    kit = resource(site.organizer, Resource.Kind.STARTING_KIT, zip_bytes({"readme.txt": "Start here. " * 50_000}))
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=False, prediction_format=None, starting_kit=kit)
    return site


@pytest.fixture
def url(site: Scenario, live_server: Any) -> Iterator[str]:
    with background_running():
        yield str(live_server.url)


@pytest.fixture(scope="session", autouse=True)
def _calls(django_db_setup: None) -> Iterator[None]:
    """Start no new interpreter for each table that is pushed."""
    with one_interpreter_for_calls():
        yield


def make_token(user: User, *scopes: Scope) -> str:
    _, secret = token_create(
        user=user, name="t", scopes=list(scopes or Scope), expires_at=timezone.now().replace(year=2100)
    )
    return secret


@contextmanager
def killed_at_the_end(process: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """The program, killed when the block ends: its own `with` would wait for ever after a failure."""
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def newcomer() -> User:
    """Somebody who has not joined yet."""
    return person()


@pytest.fixture(autouse=True)
def no_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep this person's own files of the client untouched; returns the file of sites that is used."""
    path = tmp_path / "config" / "sites.json"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PODIUM_CONFIG", str(path))
    for name in ("PODIUM_SITE", "PODIUM_TOKEN", "PODIUM_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return path


class Proxy:
    """Hands calls on to a site.

    `fault` gives the fault of each: None, `away` (503), `lost` (done, but not answered) or `cut` (half a body).
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.fault: Callable[[str, str], str | None] = lambda method, path: None
        self.calls: list[tuple[str, str]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def handle_call(self) -> None:
                proxy.calls.append((self.command, self.path))
                fault = proxy.fault(self.command, self.path)
                announced_bytes = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(announced_bytes)
                if len(body) < announced_bytes:  # the client is gone
                    self.close_connection = True
                    return
                if fault == "away":
                    self.send_response(503)
                    self.send_header("Retry-After", "0")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                headers = {
                    name: value for name, value in self.headers.items() if name not in ("Connection", "Accept-Encoding")
                }
                answer = requests.request(
                    self.command,
                    proxy.target + self.path,
                    data=body,
                    headers=headers,
                    timeout=30,
                    allow_redirects=False,
                )
                if fault == "lost":
                    self.close_connection = True
                    return
                content = answer.content[: len(answer.content) // 2] if fault == "cut" else answer.content
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name in ("Content-Type", "Content-Range"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = fault == "cut"

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_call  # noqa: N815  # the names are the library's

            def log_message(self, *args: object) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    proxy = Proxy(url)
    threading.Thread(target=proxy.server.serve_forever, daemon=True).start()
    yield proxy
    proxy.server.shutdown()
    proxy.server.server_close()

"""The front alone, before an absent site or a stand-in: bodies that it spools or passes on."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.services import REPOSITORY, free_port

LARGE = bytes(11_000_000)  # more than a form may be
SLOW = 100  # connections at a time; of one address 128 are taken
# One for each checkout: two on one machine do not meet, and a killed run leaves nothing that the next does not take down.
NETWORK = f"podium-front-{hashlib.sha256(str(REPOSITORY).encode()).hexdigest()[:6]}"
SITE = """
import http.server

class Site(http.server.BaseHTTPRequestHandler):
    begun = 0

    def do_GET(self):
        Site.begun += 1
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            left -= len(self.rfile.read(min(left, 65536)))
        self.send_response(200)
        if self.path.endswith("/file"):
            self.send_header("X-Accel-Redirect", "/_objects/stored")
        self.send_header("Cache-Control", "private, no-cache")
        self.end_headers()
        self.wfile.write(b"%d" % Site.begun if self.path == "/begun" else b"the site")

    do_POST = do_GET

http.server.ThreadingHTTPServer(("", 8000), Site).serve_forever()
"""


def docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout.strip()


def take_down() -> None:
    for arguments in (["rm", "--force", f"{NETWORK}-front", f"{NETWORK}-site"], ["network", "rm", NETWORK]):
        subprocess.run(["docker", *arguments], capture_output=True, check=False)


def wait_for(answers: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 120
    while True:
        try:
            if answers():
                return
        except (requests.ConnectionError, requests.Timeout):
            pass
        assert time.monotonic() < give_up, docker("logs", f"{NETWORK}-front")
        time.sleep(0.2)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory, runtime_image: str) -> Iterator[str]:
    """Its address; nothing in its network is called `web`."""
    objects: Path = tmp_path_factory.mktemp("objects")
    objects.chmod(0o755)
    (objects / "stored").write_bytes(b"a stored file")
    base = os.environ.get("PODIUM_BASE_IMAGE", "debian:bookworm-slim")
    image = docker(
        "build", "--quiet", "--network=host", f"--build-arg=BASE={base}", "--file=docker/front.Dockerfile", "."
    )
    url = f"http://127.0.0.1:{(port := free_port())}"
    take_down()
    docker("network", "create", NETWORK)
    try:
        docker(
            "run",
            "--detach",
            f"--name={NETWORK}-front",
            f"--network={NETWORK}",
            f"--publish=127.0.0.1:{port}:8080",
            f"--volume={objects}:/var/lib/podium/objects:ro",
            image,
        )
        wait_for(lambda: requests.get(f"{url}/_front/page.css", timeout=30).ok)
        yield url
    finally:
        take_down()


@pytest.fixture(scope="module")
def site(front: str, runtime_image: str) -> Iterator[str]:
    """The front's address, with a site behind it: the tests before the first that asks for it have none."""
    docker(
        "run",
        "--detach",
        f"--name={NETWORK}-site",
        f"--network={NETWORK}",
        "--network-alias=web",
        runtime_image,
        "python3",
        "-c",
        SITE,
    )
    try:
        wait_for(lambda: requests.get(f"{front}/", timeout=60).ok)
        yield front
    finally:
        docker("rm", "--force", f"{NETWORK}-site")


@pytest.mark.parametrize("body", [b"small", LARGE], ids=["small", "large"])
def test_the_front_says_when_to_come_again_while_the_site_is_away(front: str, body: bytes) -> None:
    """The first of this file: `site` starts one for all tests below."""
    page = requests.post(f"{front}/organize/bundles/send/", data=body, timeout=60)
    assert (page.status_code, page.headers.get("Retry-After")) == (503, "10")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    answer = requests.post(f"{front}/api/v1/submissions/", data=body, timeout=60)
    assert (answer.status_code, answer.headers.get("Retry-After")) == (503, "10")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "unavailable"


@pytest.mark.parametrize("body", [b"small", LARGE], ids=["small", "large"])
def test_the_site_takes_a_body_and_may_answer_with_a_stored_file(site: str, body: bytes) -> None:
    assert requests.post(f"{site}/api/v1/submissions/", data=body, timeout=60).content == b"the site"


@pytest.mark.parametrize("path", ["/file", "/api/worker/v1/file"])
def test_the_site_may_answer_with_a_stored_file(site: str, path: str) -> None:
    answer = requests.post(f"{site}{path}", data=b"small", timeout=60)
    assert (answer.status_code, answer.content) == (200, b"a stored file")
    assert answer.headers["Cache-Control"] == "private, no-cache", "the site's word goes with the file"


def test_a_large_body_opens_no_way_to_stored_files(site: str) -> None:
    assert requests.post(f"{site}/_objects/stored", data=LARGE, timeout=60).status_code in (404, 413)


@pytest.mark.parametrize("path", ["/accounts/login/", "/api/api-token-auth/", "/competitions/a/", "/uploads/"])
def test_a_large_body_goes_to_addresses_of_uploads_alone(site: str, path: str) -> None:
    before = begun(site)
    answer = requests.post(f"{site}{path}", data=LARGE, timeout=60)
    assert (answer.status_code, begun(site)) == (413, before + 1)


def begun(site: str) -> int:
    """Requests that have reached the site, this one included."""
    return int(requests.get(f"{site}/begun", timeout=60).text)


@contextmanager
def connections(front: str, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Clients that sent this, and wait."""
    address = urlsplit(front)
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection((address.hostname or "", address.port or 0), 10))
            for _ in range(count)
        ]
        for client in clients:
            client.sendall(sent)
        yield clients


def head(length: int, **fields: str) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    first = ("POST /accounts/login/ HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}")
    return "\r\n".join([*first, *lines, "", ""]).encode()


@pytest.mark.parametrize("length", [9_000_000, 10_000_000])
def test_the_site_hears_nothing_of_slow_bodies_that_the_front_takes_in(site: str, length: int) -> None:
    before = begun(site)
    with connections(site, SLOW, head(length) + b"a" * 1200) as clients:
        for _ in range(3):
            for client in clients:
                client.sendall(b"a" * 1200)
        assert begun(site) == before + 1
        assert requests.get(f"{site}/", timeout=60).content == b"the site"


def refused(url: str) -> requests.Response:
    """The answer to 192.0.2.1 once all that it may have under way has arrived at the front."""
    give_up = time.monotonic() + 25
    while True:
        answer = requests.get(url, headers={"X-Forwarded-For": "198.51.100.1, 192.0.2.1"}, timeout=60)
        if answer.status_code == 429 or time.monotonic() > give_up:
            assert answer.status_code == 429
            return answer


def test_one_address_has_so_many_requests_under_way_and_others_are_served(site: str) -> None:
    with connections(site, 140, head(1000, X_Forwarded_For="192.0.2.1") + b"a"):
        answer, page = refused(f"{site}/api/v1/"), refused(f"{site}/")
        assert (answer.json()["code"], answer.headers["Retry-After"]) == ("too_many_requests", "10")
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert requests.get(f"{site}/", headers={"X-Forwarded-For": "192.0.2.2"}, timeout=60).content == b"the site"
    assert requests.get(f"{site}/", headers={"X-Forwarded-For": "192.0.2.3"}, timeout=60).ok

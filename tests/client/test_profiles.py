"""The site and the token that a command goes by."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from podium.cli import main
from podium.client import Client
from podium.errors import InvalidInput
from podium.profiles import Profile, SignIn, profile_save, sign_in_chosen
from podium.site import Site

PERSON = Profile("lab", "https://podium.example.org", "podium_person")


@pytest.fixture(autouse=True)
def signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has signed in on this machine, and the environment says nothing."""
    monkeypatch.setenv("PODIUM_CONFIG", str(tmp_path / "sites.json"))
    for name in ("PODIUM_SITE", "PODIUM_TOKEN", "PODIUM_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    profile_save(PERSON)


def test_a_token_of_the_environment_is_never_passed_over_for_who_signed_in_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PODIUM_TOKEN", "podium_robot")
    with pytest.raises(InvalidInput, match="PODIUM_SITE does not say for which site"):
        sign_in_chosen()
    assert main(["submissions", "gap"]) == 2
    assert "PODIUM_TOKEN is set" in capsys.readouterr().err
    monkeypatch.setenv("PODIUM_SITE", "https://other.example.org/")
    assert sign_in_chosen() == SignIn("https://other.example.org", "podium_robot", "PODIUM_TOKEN")


def test_a_profile_that_is_named_says_the_site_and_a_token_of_the_environment_who_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sign_in_chosen() == SignIn(PERSON.site, PERSON.token, "the profile lab")
    monkeypatch.setenv("PODIUM_TOKEN", "podium_robot")
    assert sign_in_chosen("lab") == SignIn(PERSON.site, "podium_robot", "PODIUM_TOKEN")
    monkeypatch.setenv("PODIUM_PROFILE", "lab")
    assert sign_in_chosen() == SignIn(PERSON.site, "podium_robot", "PODIUM_TOKEN")
    monkeypatch.setenv("PODIUM_SITE", "https://podium.example.org/")
    assert sign_in_chosen().token == "podium_robot"


def test_a_token_of_the_environment_goes_to_no_site_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_TOKEN", "podium_robot")
    monkeypatch.setenv("PODIUM_SITE", "https://other.example.org")
    with pytest.raises(
        InvalidInput, match=r"PODIUM_TOKEN is for https://other.example.org .* https://podium.example.org"
    ):
        sign_in_chosen("lab")
    with pytest.raises(InvalidInput, match="PODIUM_TOKEN is for"):
        Client("https://third.example.org")
    assert Client("https://third.example.org", "podium_given").sign_in.token == "podium_given"
    monkeypatch.delenv("PODIUM_TOKEN")
    assert sign_in_chosen("lab").token == PERSON.token


class Listener(ThreadingHTTPServer):
    """A server that notes each call's path and token, and sends callers of `away` on to `next_url`."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str | None]] = []
        self.next_url = ""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        self.server.calls.append((self.path, self.headers.get("Authorization")))
        is_away = self.path.endswith("/away")
        self.send_response(302 if is_away else 200)
        if is_away:
            self.send_header("Location", self.server.next_url)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def listeners() -> Iterator[tuple[Listener, Listener]]:
    """A site and another host."""
    both = Listener(), Listener()
    for listener in both:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield both
    for listener in both:
        listener.shutdown()
        listener.server_close()


@pytest.fixture
def netrc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This person has a password for every host."""
    path = tmp_path / "netrc"
    path.write_text("default login me password other-secret\n")
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))


@pytest.mark.usefixtures("netrc")
@pytest.mark.parametrize(("token", "header"), [("podium_person", "Bearer podium_person"), ("", None)])
def test_the_token_alone_is_sent_and_only_to_its_site(
    listeners: tuple[Listener, Listener], token: str, header: str | None
) -> None:
    site, other = listeners
    site.next_url = f"{other.url}/x"
    Site(site.url, token).get("away")
    site.next_url = f"http://localhost:{other.server_port}/y"
    Site(site.url, token).get("away")
    assert site.calls == [("/api/v1/away", header)] * 2
    assert other.calls == [("/x", None), ("/y", None)]


@pytest.mark.usefixtures("netrc")
def test_the_token_stays_where_a_site_leads_to_another_page_of_its_own(listeners: tuple[Listener, Listener]) -> None:
    site, _ = listeners
    site.next_url = "/api/v1/here"
    Site(site.url, "podium_person").get("away")
    assert site.calls == [("/api/v1/away", "Bearer podium_person"), ("/api/v1/here", "Bearer podium_person")]


@pytest.mark.usefixtures("netrc")
def test_proxies_and_certificates_of_the_environment_are_used(
    listeners: tuple[Listener, Listener], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, proxy = listeners
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy.url)
    Site(site.url, "podium_person").get("here")
    assert (site.calls, proxy.calls) == ([], [(f"{site.url}/api/v1/here", "Bearer podium_person")])
    monkeypatch.delenv("http_proxy")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "own-certificates.pem"))
    with pytest.raises(OSError, match=r"own-certificates\.pem"):
        Site("https://127.0.0.1:1", "podium_person", patience_s=0).get("here")

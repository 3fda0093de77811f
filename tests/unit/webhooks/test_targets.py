"""Webhooks never reach the site's own network by any trick of names, and end within seconds."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any

import pytest
from django.conf import LazySettings

from competitions.webhooks import targets
from competitions.webhooks.targets import NotReached, TargetRefused, look_up, post


def resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Every name means these addresses."""

    def lookup(host: str, port: int, **kwargs: Any) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.5", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
        "::1", "::", "fe80::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.5", "64:ff9b::a00:5", "2002:a00:5::1", "2001:0:a00:5::1",
        "ff02::1", "fec0::1", "::10.0.0.5", "::8.8.8.8", "::ffff:0:10.0.0.5", "::ffff:0:8.8.8.8", "192.88.99.1", "2001:20::1", "3fff::1",
        "4000::1", "5f00::1", "e000::1", "240.0.0.1",
    ],
)  # fmt: skip
def test_private_addresses_are_refused_however_they_are_written(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolves_to(monkeypatch, address)
    with pytest.raises(TargetRefused, match="private network"):
        look_up("https://hooks.example.org/")


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2a00:1450:4001:81c::200e"]
)
def test_public_addresses_are_open(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolves_to(monkeypatch, address)
    assert look_up("https://hooks.example.org/").address == address


def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch, "93.184.215.14", "10.0.0.5")
    with pytest.raises(TargetRefused, match="private network"):
        look_up("https://hooks.example.org/")


def test_a_public_address_is_used_as_it_was_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch, "93.184.215.14")
    target = look_up("https://hooks.example.org:8443/a?b=c")
    assert (target.address, target.port, target.host) == ("93.184.215.14", 8443, "hooks.example.org")


def test_an_opened_network_takes_plain_http_and_no_other_does(
    monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    settings.WEBHOOK_NETWORKS = [ipaddress.ip_network("10.0.0.0/24")]
    resolves_to(monkeypatch, "10.0.0.5")
    assert look_up("http://chat.example.org/").address == "10.0.0.5"
    resolves_to(monkeypatch, "10.0.1.5")
    with pytest.raises(TargetRefused, match="https://"):
        look_up("http://chat.example.org/")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.org/", "https://"),
        ("file:///etc/passwd", "https://"),
        ("https:///path", "name a host"),
        ("https://me:secret@example.org/", "user name"),
        ("https://example.org:99999/", "not an address"),
        ("https://[::1", "not an address"),
    ],
)
def test_other_addresses_are_refused_with_what_is_wrong(url: str, reason: str) -> None:
    with pytest.raises(TargetRefused, match=reason):
        look_up(url)


def test_a_host_that_is_not_found_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def lookup(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with pytest.raises(NotReached, match="was not found"):
        look_up("https://nowhere.example.org/")


@contextmanager
def listening(answer: Any) -> Iterator[int]:
    """A server on this machine; `answer` gets each connection."""
    server = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                answer(connection, over)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        over.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def drip(connection: socket.socket, over: threading.Event, pieces: Iterable[bytes]) -> None:
    """Send a piece every 50 ms, until the other side hangs up."""
    for piece in pieces:
        if over.wait(0.05):
            return
        try:
            connection.sendall(piece)
        except OSError:
            return


@pytest.fixture
def own_machine(settings: LazySettings) -> None:
    settings.WEBHOOK_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]


@pytest.mark.usefixtures("own_machine")
@pytest.mark.parametrize("seconds", [0.5, 0.0], ids=["while it answers", "before it is connected"])
def test_a_target_that_drips_its_answer_is_hung_up_on(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    def answer(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(65536)
        drip(connection, over, chain([b"HTTP/1.1 200 OK\r\n"], repeat(b"x-more: 1\r\n")))

    monkeypatch.setattr(targets, "WHOLE_S", seconds)
    began = time.monotonic()
    with listening(answer) as port, pytest.raises(NotReached, match="in time"):
        post(f"http://127.0.0.1:{port}/", b"{}", {})
    assert time.monotonic() - began < 60


@pytest.mark.usefixtures("own_machine")
def test_a_target_that_drips_its_handshake_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step's time holds for the whole handshake, however often a byte of it comes."""

    def shake(connection: socket.socket, over: threading.Event) -> None:
        head = b"\x16\x03\x03\x40\x00"  # of a record of 16 KiB, which takes a quarter of an hour
        drip(connection, over, (bytes([byte]) for byte in head + bytes(16_384)))

    monkeypatch.setattr(targets, "STEP_S", 0.5)
    began = time.monotonic()
    with listening(shake) as port, pytest.raises(NotReached, match="in time"):
        post(f"https://127.0.0.1:{port}/", b"{}", {})
    assert time.monotonic() - began < 60


@pytest.mark.usefixtures("own_machine")
def test_a_target_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "STEP_S", 0.3)
    with listening(lambda connection, over: over.wait(60)) as port, pytest.raises(NotReached, match="did not answer"):
        post(f"http://127.0.0.1:{port}/", b"{}", {})


@pytest.mark.usefixtures("own_machine")
def test_a_port_where_nobody_listens_is_said(free_port: int) -> None:
    with pytest.raises(NotReached, match="refused or cut"):
        post(f"http://127.0.0.1:{free_port}/", b"{}", {})


@pytest.mark.usefixtures("own_machine")
def test_a_certificate_that_nobody_signed_is_refused(tmp_path: Any) -> None:
    context = _own_certificate(tmp_path)

    def shake(connection: socket.socket, over: threading.Event) -> None:
        try:
            context.wrap_socket(connection, server_side=True).close()
        except (ssl.SSLError, OSError):
            return

    with listening(shake) as port, pytest.raises(NotReached, match="certificate"):
        post(f"https://127.0.0.1:{port}/", b"{}", {})


def _own_certificate(folder: Any) -> ssl.SSLContext:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = folder / "own.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context

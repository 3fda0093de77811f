"""One request to a stranger's address: never into the site's own network, with limits, no redirects."""

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

STEP_S: Final = 5.0  # to connect, and for each piece of the answer
WHOLE_S: Final = 15.0  # for everything, however slowly the pieces come
NO_TLS: Final = "The address must begin with https://, so that nobody else can read the messages."
# Where public machines have addresses: of IPv6 nothing but global unicast has been given out, whatever else the kernel would route.
PUBLIC: Final = tuple(ipaddress.ip_network(name) for name in ("0.0.0.0/0", "2000::/3"))
# Within them: relays and tunnels that lead to IPv4 addresses inside (6to4, Teredo), other special uses, examples.
SPECIAL: Final = tuple(ipaddress.ip_network(name) for name in ("192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20"))


class TargetRefused(Exception):
    """The address is not one to which this site sends; the text says why, and what would do."""


class NotReached(Exception):
    """No answer came; the text says what happened, in words for the owners."""


@dataclass(frozen=True)
class Target:
    """A resolved address: the request goes to this machine, whatever the name resolves to later."""

    parts: SplitResult
    host: str
    port: int
    address: str


def check_url(url: str) -> SplitResult:
    """The parts of a webhook's URL, checked without looking up its host. Raises `TargetRefused`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TargetRefused(f"This is not an address: {error}.") from error
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise TargetRefused("The address must begin with https:// and name a host, such as https://example.org/podium.")
    if parts.username is not None or parts.password is not None:
        raise TargetRefused("The address must not hold a user name or a password: the signature says who sends.")
    if port == 0:
        raise TargetRefused("Port 0 is not a port.")
    if parts.scheme == "http" and not allowed_networks():
        raise TargetRefused(NO_TLS)
    if (address := _as_address(parts.hostname)) is not None:
        _require_open(address, parts.scheme)
    return parts


def _as_address(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def look_up(url: str) -> Target:
    """The machine behind an address. Raises `TargetRefused` for a closed network, `NotReached` for none."""
    parts = check_url(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotReached(f"The host {host} was not found.") from error
    addresses = [str(sockaddr[0]) for *_, sockaddr in results]
    for text in addresses:
        _require_open(ipaddress.ip_address(text.partition("%")[0]), parts.scheme)
    return Target(parts, host, port, addresses[0])


def _require_open(address: Address, scheme: str) -> None:
    """One closed address among several is enough to refuse: the name could be made to mean either."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if any(_within(address, network) for network in allowed_networks()):
        return
    if scheme != "https":
        raise TargetRefused(NO_TLS)
    if not _is_public(address):
        raise TargetRefused(
            "The host is on a private network; this site does not send there. The site's administrator can open a network."
        )


def _is_public(address: Address) -> bool:
    is_unicast = address.is_global and not address.is_multicast and any(_within(address, open_) for open_ in PUBLIC)
    return is_unicast and not any(_within(address, network) for network in SPECIAL)


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


def allowed_networks() -> Sequence[Network]:
    """Private networks that the administrator opened; plain http will do there."""
    networks: Sequence[Network] = settings.WEBHOOK_NETWORKS
    return networks


def post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Send the body; returns the status of the answer, whose text is not read. No redirect is followed.

    Raises `TargetRefused` or `NotReached`.
    """
    target = look_up(url)
    connection = _connection(target)
    too_late = threading.Event()
    watch = threading.Timer(WHOLE_S, _hang_up, [connection, too_late])
    watch.daemon = True
    watch.start()
    try:
        path = target.parts.path or "/"
        full_path = f"{path}?{target.parts.query}" if target.parts.query else path
        connection.connect()
        if too_late.is_set():  # there was no connection to end yet
            raise TimeoutError
        connection.request("POST", full_path, body, {"Host": target.parts.netloc, **headers}, preload_content=False)
        status = connection.getresponse().status
        if too_late.is_set():  # the half of an answer reads like a whole one
            raise TimeoutError
        return status
    except (HTTPError, http.client.HTTPException, OSError, ValueError) as error:
        # A connection that was hung up on fails in many ways, all for the same reason.
        cause = TimeoutError() if too_late.is_set() else error
        raise NotReached(_in_words(cause, target)) from error
    finally:
        watch.cancel()
        connection.close()


def _connection(target: Target) -> HTTPConnection:
    """Connect to the machine that was looked up; the certificate must be for the name."""
    if target.parts.scheme == "http":
        return HTTPConnection(target.address, target.port, timeout=STEP_S)
    connection = HTTPSConnection(
        target.address, target.port, timeout=STEP_S, server_hostname=target.host, assert_hostname=target.host
    )
    connection.ssl_context = ssl.create_default_context()
    return connection


def _hang_up(connection: HTTPConnection, too_late: threading.Event) -> None:
    """Ends whatever the sending thread waits for."""
    too_late.set()
    if connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)
        except OSError:  # it is closed already, which is what was wanted
            return


def _in_words(error: Exception, target: Target) -> str:
    """The error for the webhook's owners: it tells nothing about the site's own network."""
    if isinstance(error, TimeoutError) or "timed out" in str(error):
        return f"{target.host} did not answer in time."
    if "CERTIFICATE" in str(error).upper():
        return f"The certificate of {target.host} is not valid for this name."
    return f"The connection to {target.host} was refused or cut."

"""The worker's settings, from the command line or from `PODIUM_WORKER_*` in the environment."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from workers.agent.allocation import NO_ALLOCATION, Allocation
from workers.protocol.images import ImageNameInvalid, parse_image

PREFIX = "PODIUM_WORKER_"
DEFAULT_IMAGE = "podium/runtime:1"
ISOLATIONS = ("none", "userns", "gvisor")
ROLES = ("both", "ingestion", "scoring")
SELF_TESTS = ("once", "always", "never")
NAME = re.compile(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


class ConfigError(Exception):
    """A setting is missing or wrong; the message names the option, the variable and a right value."""


@dataclass(frozen=True)
class Config:
    """The settings of `podium-worker run`."""

    site: str
    token: str
    data_dir: Path
    name: str
    broker: str = ""
    slots: int = 0  # 0: one per GPU, at least one
    gpus: str = "auto"
    engine: str = ""
    ca_file: str = ""
    cache_bytes: int = 20 << 30
    reserve_bytes: int = 2 << 30
    own_image_bytes: int = 100 << 30
    own_image_days: int = 14
    allow_network: bool = False
    require_quota: bool = False
    runtime: str = ""
    require_isolation: str = "none"
    sweep_s: int = 30
    role: str = "both"
    self_test: str = "once"
    self_test_image: str = DEFAULT_IMAGE
    until_idle_s: int = 0  # 0: it stays
    max_runs: int = 0  # 0: as many as there are
    allocation: Allocation = NO_ALLOCATION


def default_name() -> str:
    """This host's name, as far as it is a valid worker name."""
    cleaned = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).strip("-.")
    return cleaned[:100] or "worker"


def from_environment(option: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The value of an option's environment variable: `data-dir` is `PODIUM_WORKER_DATA_DIR`."""
    return environ.get(PREFIX + option.upper().replace("-", "_")) or None


def is_loopback(host: str) -> bool:
    """True for a host name or address that stays on this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def checked_choice(option: str, value: str | None, choices: tuple[str, ...]) -> str:
    """One of the choices; the first is the default."""
    if value is not None and value not in choices:
        raise ConfigError(f"--{option} must be one of {', '.join(choices)}, not {value!r}")
    return value or choices[0]


def checked_site(value: str | None, *, allow_http: bool = False) -> str:
    """A site's address with scheme and host. Raises `ConfigError`.

    Plain HTTP shows the queue token to the network, so it is for this machine, or where it is allowed.
    """
    try:
        parts = urlsplit(value or "")
    except ValueError:  # such as a bracket that is not closed
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"--site (or {PREFIX}SITE) must be the site's address, such as https://podium.example.org, not {value!r}"
        )
    if parts.scheme == "http" and not (allow_http or is_loopback(parts.hostname)):
        raise ConfigError(
            f"--site {value} is plain HTTP, over which anybody on the way reads the queue token. Use https://, "
            f"or say --allow-http where the network itself is private"
        )
    return str(value)


def read_token(path: str | None) -> str:
    """The queue token from its file."""
    if not path:
        raise ConfigError(f"--token-file (or {PREFIX}TOKEN_FILE) must name the file that holds the queue token")
    try:
        token = Path(path).read_text(errors="replace").strip()
    except OSError as error:
        raise ConfigError(f"the token file {path} cannot be read: {error.strerror}") from error
    if not re.fullmatch("[!-~]+", token):
        raise ConfigError(f"the token file {path} must hold one token and nothing else")
    return token


def checked_image(option: str, value: str | None) -> str:
    """The name of an image; the default where none is given."""
    try:
        return str(parse_image(value or DEFAULT_IMAGE))
    except ImageNameInvalid as error:
        raise ConfigError(f"--{option}: {error}") from error


def checked_name(value: str | None) -> str:
    """A worker name."""
    name = value or default_name()
    if not NAME.match(name):
        raise ConfigError(
            f"--name (or {PREFIX}NAME) must be at most 100 letters, digits, dots, dashes and underscores, not {name!r}"
        )
    return name


def checked_job(value: str | None) -> str:
    """The id of a cluster's job; empty where the worker is none."""
    if value and not NAME.match(value):
        raise ConfigError(
            f"--job (or {PREFIX}JOB) must be the id of a cluster's job, such as 1234, of at most 100 letters, digits, dots, "
            f"dashes and underscores, not {value!r}"
        )
    return value or ""


def checked_end(value: str | None) -> float | None:
    """The end of an allocation, in seconds since 1970; None where it has none."""
    if not value:
        return None
    if not value.isdecimal() or not len(value) <= 12:
        raise ConfigError(
            f"--ends-at (or {PREFIX}ENDS_AT) must be the end of the job in seconds since 1970, such as $SLURM_JOB_END_TIME, not {value!r}"
        )
    return float(value)


def checked_number(option: str, value: str | int | None, default: int, *, low: int, high: int) -> int:
    """A whole number within bounds."""
    try:
        number = default if value in (None, "") else int(str(value))
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise ConfigError(f"--{option} must be a whole number from {low} to {high}, not {value!r}")
    return number

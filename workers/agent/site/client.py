"""HTTP with the site: time-outs on every call, back-off, and errors by what to do about them."""

import contextlib
import hashlib
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ProtocolError

from workers import __version__
from workers.engines.base import never
from workers.errors import SandboxError, unless_stopped
from workers.protocol.calls import Claim, Heartbeat, HeartbeatAnswer, Register, Registered, Release
from workers.protocol.messages import M, Message, MessageInvalid, read_message
from workers.protocol.results import Complete

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0
TRANSFER_TIMEOUT_S = 300.0
CHUNK_BYTES = 1 << 20
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 15.0
LONGEST_PAUSE_AFTER_A_LOSS_S = 1.5
LASTING_S = 90.0  # a try this long was a transfer: for a site that is away, gateways answer 504 after 60 s as a rule
LASTING_TRIES = 5  # so many of them start the patience anew: a transfer that can never succeed comes to an end
BRIEF_PATIENCE_S = 1.0  # for calls that are made again and again: two more tries, then the next one
JITTER = 0.25
CHANCE = random.Random()  # of our own: a thread that draws from the one that all share disturbs whoever seeded it
POOL_CONNECTIONS = 32
NOT_WELCOME = ("worker_quarantined", "self_test_required", "role_required")
T = TypeVar("T")


class SiteError(Exception):
    """The site refused a call: HTTP `status`, stable `code`, and its own sentence."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail


class SiteUnreachable(Exception):
    """No answer that counts: no connection, a time-out, 5xx or 429. Trying again may help."""


class AnswerLost(SiteUnreachable):
    """The connection broke before an answer came.

    The call may have arrived; each call of the protocol may be sent again.
    """


class LeaseLost(SiteError):
    """Another attempt owns the run: drop everything of it."""


class NotWelcome(SiteError):
    """The queue token is unknown or revoked, the worker is quarantined, or its protocol is too old."""


def jitter(pause_s: float) -> float:
    """A pause of at most this length.

    Loops that keep exact time fall into step, with each other and with whatever loses their calls.
    """
    return pause_s * CHANCE.uniform(1 - JITTER, 1)


def _backoff() -> Callable[[], float]:
    """Pauses that double, with a random part so that many workers do not come back at once."""
    pause = FIRST_PAUSE_S

    def following() -> float:
        nonlocal pause
        chosen = pause * CHANCE.uniform(0.5, 1.0)
        pause = min(pause * 2, LONGEST_PAUSE_S)
        return chosen

    return following


class SiteClient:
    """The protocol's calls, over connections that are kept alive. Safe to share between threads."""

    def __init__(self, site: str, queue_token: str, *, verify: bool | str = True) -> None:
        self._base = urljoin(site.rstrip("/") + "/", "api/worker/v1/")
        self._queue_token = queue_token
        self._session = requests.Session()
        self._verify = verify
        self._session.headers["User-Agent"] = f"podium-worker/{__version__}"
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_connections=4, pool_maxsize=POOL_CONNECTIONS))

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def register(self, message: Register) -> Registered:
        """Say who I am. Raises `NotWelcome`, `SiteUnreachable`."""
        return read_answer(Registered, self._json(self._post("register", self._queue_token, message)))

    def claim(self, message: Claim) -> dict[str, object] | None:
        """The next job as it came, or None. Raises `NotWelcome`, `SiteUnreachable`.

        A call whose answer is lost is made again.
        """
        answer = self._insist(
            BRIEF_PATIENCE_S, lambda: self._post("claim", self._queue_token, message), only=AnswerLost
        )
        return None if answer.status_code == 204 else self._json(answer)

    def heartbeat(self, run_id: str, token: str, message: Heartbeat) -> HeartbeatAnswer:
        """Renew the lease; an answer that is lost is asked for again. Raises `LeaseLost`, `SiteUnreachable`."""

        def beat() -> HeartbeatAnswer:
            return read_answer(HeartbeatAnswer, self._json(self._post(f"runs/{run_id}/heartbeat", token, message)))

        return self._insist(BRIEF_PATIENCE_S, beat, only=AnswerLost)

    def complete(self, run_id: str, token: str, message: Complete, *, patience_s: float) -> dict[str, object]:
        """Report the result, again and again for `patience_s`. Raises `LeaseLost`, `SiteUnreachable`."""
        return self._insist(patience_s, lambda: self._json(self._post(f"runs/{run_id}/complete", token, message)))

    def release(self, run_id: str, token: str, message: Release, *, patience_s: float) -> None:
        """Give back a run that this worker cannot end. Raises `LeaseLost`, `SiteUnreachable`."""
        self._insist(patience_s, lambda: self._post(f"runs/{run_id}/release", token, message))

    def upload(self, run_id: str, token: str, name: str, path: Path, sha256: str, *, patience_s: float) -> None:
        """Store one output of the attempt. Raises `LeaseLost`, `SiteUnreachable`, `SiteError`."""
        headers = {"X-Content-SHA256": sha256, "Content-Type": "application/octet-stream"}

        def put() -> None:
            with path.open("rb") as stream:
                # An empty file needs a body too: requests would send none and no length for an empty stream.
                data: IO[bytes] | bytes = stream if path.stat().st_size else b""
                self._call(
                    "PUT",
                    f"runs/{run_id}/outputs/{name}",
                    token,
                    data=data,
                    headers=headers,
                    timeout=(CONNECT_TIMEOUT_S, TRANSFER_TIMEOUT_S),
                )

        self._insist(patience_s, put)

    def download(
        self,
        url: str,
        target: Path,
        *,
        sha256: str,
        size_bytes: int,
        patience_s: float,
        stop: Callable[[], bool] = never,
    ) -> None:
        """Fetch one input file into `target`.

        Raises `SandboxError` (`digest_mismatch`, `download_failed`, or `staging_stopped` where `stop` said so), or
        `SiteError` where the site refused, for instance because the signed address has expired (`403`).
        """
        try:
            self._insist(patience_s, lambda: self._fetch(url, target, sha256, size_bytes, stop))
        except SiteUnreachable as error:
            raise SandboxError("download_failed", f"an input file could not be fetched: {error}") from error

    def _fetch(self, url: str, target: Path, sha256: str, size_bytes: int, stop: Callable[[], bool]) -> None:
        digest = hashlib.sha256()
        written = 0
        with contextlib.closing(self._call("GET", url, None, stream=True)) as answer, target.open("wb") as sink:
            try:
                for chunk in unless_stopped(
                    answer.iter_content(CHUNK_BYTES), stop, "an input file was not fetched to its end"
                ):
                    written += len(chunk)
                    if written > size_bytes:
                        break
                    digest.update(chunk)
                    sink.write(chunk)
            except requests.RequestException as error:
                raise SiteUnreachable(f"the transfer broke off after {written} bytes") from error
        if written < size_bytes:
            raise SiteUnreachable(f"the transfer ended after {written} of {size_bytes} bytes")
        if written > size_bytes or digest.hexdigest() != sha256:
            raise SandboxError(
                "digest_mismatch", f"an input file is not the one that the job names (sha256 {sha256[:12]}...)"
            )

    def _insist(self, patience_s: float, call: Callable[[], T], *, only: type[SiteUnreachable] = SiteUnreachable) -> T:
        """Call until it succeeds. Patience starts again after a transfer that lasted and broke."""
        until, lasting = time.monotonic() + patience_s, 0
        pause = _backoff()
        while True:
            began = time.monotonic()
            try:
                return call()
            except only as error:
                ended = time.monotonic()
                if ended - began >= LASTING_S and lasting < LASTING_TRIES:
                    until, lasting = ended + patience_s, lasting + 1
                wait = pause()
                if isinstance(error, AnswerLost):  # the site is there: what waits for this answer goes on soon
                    wait = min(wait, LONGEST_PAUSE_AFTER_A_LOSS_S * CHANCE.uniform(0.5, 1.0))
                if time.monotonic() + wait > until:
                    raise
                time.sleep(wait)

    def _post(self, path: str, token: str, message: Message) -> requests.Response:
        return self._call("POST", path, token, json=message.model_dump(mode="json", exclude_unset=True))

    def _call(self, method: str, path: str, token: str | None, **arguments: Any) -> requests.Response:
        headers = arguments.pop("headers", {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        arguments.setdefault("timeout", (CONNECT_TIMEOUT_S, READ_TIMEOUT_S))
        try:
            answer = self._session.request(
                method,
                urljoin(self._base, path),
                headers=headers,
                allow_redirects=False,
                verify=self._verify,
                **arguments,
            )
        except requests.RequestException as error:
            # Never the whole address: that of a file is a secret while it is valid.
            failure = AnswerLost if _broke(error) else SiteUnreachable
            raise failure(f"{type(error).__name__} when calling {urlsplit(self._base).netloc}") from error
        if 200 <= answer.status_code < 300:
            return answer
        refusal = _refusal(answer)
        answer.close()
        raise refusal

    @staticmethod
    def _json(answer: requests.Response) -> dict[str, object]:
        try:
            body = answer.json()
        except ValueError as error:
            raise SiteUnreachable(
                f"the site's answer is not JSON (is {urlsplit(answer.url).netloc} a Podium site?)"
            ) from error
        if not isinstance(body, dict):
            raise SiteUnreachable("the site's answer is not a JSON object")
        return body


def _broke(error: requests.RequestException) -> bool:
    """True where a connection ended before the answer came."""
    wraps = error.args[0] if error.args else None
    return isinstance(error, requests.ReadTimeout) or isinstance(wraps, ProtocolError | ConnectionError)


def read_answer(model: type[M], body: dict[str, object]) -> M:
    """The site's answer as this message. Raises `SiteUnreachable` for one that is none."""
    try:
        return read_message(model, body)
    except MessageInvalid as error:
        raise SiteUnreachable(f"the site's answer cannot be understood: {error}") from error


def _refusal(answer: requests.Response) -> Exception:
    """The exception for an answer that is not a success."""
    status = answer.status_code
    if status >= 500 or status in (408, 425, 429):
        return SiteUnreachable(f"the site answered {status}")
    try:
        problem = answer.json()
        code, detail = str(problem["code"]), str(problem.get("detail", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        if status == 404:  # a proxy's word while the site behind it is away; the site itself says why
            return SiteUnreachable(f"{urlsplit(answer.url).netloc} answered 404, and not as a Podium site does")
        code, detail = f"http_{status}", answer.text[:200]
    if status == 409 and code == "lease_lost":
        return LeaseLost(status, code, detail)
    if status in (401, 426) or code in NOT_WELCOME:
        return NotWelcome(status, code, detail)
    return SiteError(status, code, detail)

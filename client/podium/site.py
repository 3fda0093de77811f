"""One site over HTTP: repeats calls while it is away, and turns its refusals into errors."""

import random
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import requests
from requests.auth import AuthBase

from podium.errors import InvalidInput, NotAllowed, PodiumError, Refused, SiteUnreachable

API: Final = "/api/v1/"
TIMEOUT_S: Final = (10.0, 60.0)  # to connect, and between two bytes
LONGEST_PAUSE_S: Final = 15.0
AWAY: Final = (502, 503, 504)
LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
# A connection that was not made, or broke in the middle of an answer.
BROKEN: Final = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)


class _Bearer(AuthBase):
    """The token, or none. Without such an object, requests sends what ~/.netrc has for any host."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Session(requests.Session):
    """Proxies and certificates come from the environment, and no sign-in does."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.auth = _Bearer(token)

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Send no token to another host. The library's own would ask ~/.netrc for one of that host."""
        if self.should_strip_auth(response.request.url, prepared_request.url):  # type: ignore[no-untyped-call]
            prepared_request.headers.pop("Authorization", None)


class Site:
    """`patience_s` is for how long one call is repeated while the site does not answer, or asks to wait."""

    def __init__(
        self, url: str, token: str = "", *, patience_s: float = 120.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = checked_url(url)
        self.patience_s = patience_s
        self._sleep = sleep
        self._session = _Session(checked_token(token) if token else "")
        self._session.headers["User-Agent"] = "podium-client"
        self._has_token = bool(token)

    def get(self, path: str, **params: Any) -> Any:
        """JSON of a route below /api/v1/, or of an address that an earlier answer gave."""
        named = {name: value for name, value in params.items() if value is not None}
        return read_answer(self.call("GET", path, params=named))

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str = "") -> Any:
        """Post to a route, as `get`. It is repeated only with an idempotency `key`.

        The site does it once for each key.
        """
        headers = {"Idempotency-Key": key} if key else {}
        answer = self.call("POST", path, json=dict(body or {}), headers=headers, is_repeatable=bool(key))
        return read_answer(answer) if answer.content else None

    def call(self, method: str, path: str, *, is_repeatable: bool = True, **options: Any) -> requests.Response:
        """One call. Raises `PodiumError` for every answer that is not a success."""
        url = urljoin(self.url + API, path)
        if urlsplit(url)[:2] != urlsplit(self.url)[:2]:
            raise InvalidInput(f"{url} is not on {self.url}: the token is not sent there.")
        until = time.monotonic() + self.patience_s
        for attempt in range(1_000_000):
            response, why = self._once(method, url, options)
            if response is not None and not _asks_to_wait(response):
                return _require_success(response, has_token=self._has_token)
            pause = _pause_s(response, attempt)
            if not is_repeatable or time.monotonic() + pause > until:
                if response is not None:
                    return _require_success(response, has_token=self._has_token)
                break
            self._sleep(pause)
        raise SiteUnreachable(f"{self.url} cannot be reached: {why}", code="unreachable")

    def pause(self, attempt: int) -> None:
        """Wait before a call is made again, the longer the more often it was."""
        self._sleep(_pause_s(None, attempt))

    def _once(self, method: str, url: str, options: dict[str, Any]) -> tuple[requests.Response | None, str]:
        try:
            return self._session.request(method, url, **{"timeout": TIMEOUT_S} | options), ""
        except BROKEN as error:
            return None, _plain(error)
        except requests.RequestException as error:
            raise InvalidInput(f"{url}: {error}") from error


def checked_token(token: str) -> str:
    """The token. Raises `InvalidInput` for one that cannot be sent, without repeating it."""
    if not re.fullmatch("[!-~]+", token):
        raise InvalidInput(
            "The API token holds a blank, a line break or a letter that no token has. Copy it again, and nothing else.",
            code="wrong_token",
        )
    return token


def checked_url(url: str) -> str:
    """The site's address without a slash at its end.

    Raises `InvalidInput`, also where a token would travel unencrypted.
    """
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
    except ValueError:  # such as a bracket that is not closed
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"{url!r} is not an address of a site; write it as https://podium.example.org.")
    if parts.scheme == "http" and parts.hostname not in LOCAL_HOSTS:
        raise InvalidInput(f"{url} is not encrypted, so anybody on the way could read your token. Use https.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def read_answer(response: requests.Response) -> Any:
    """The JSON of an answer. Raises `InvalidInput` for that of something else than a site of Podium."""
    try:
        return response.json()
    except requests.JSONDecodeError as error:
        raise InvalidInput(
            f"{response.url} does not answer as a site of Podium does. Is its address right, and no sign-in page before it?",
            code="no_podium",
        ) from error


def _asks_to_wait(response: requests.Response) -> bool:
    """True where the site is away, or calls come too often.

    A quota that is used up is 429, too, and no reason to wait.
    """
    return response.status_code in AWAY or (response.status_code == 429 and _problem(response)[0] == "throttled")


def _pause_s(response: requests.Response | None, attempt: int) -> float:
    """The pause that the site gives; else longer and longer, out of step with other clients."""
    wanted_pause = response.headers.get("Retry-After", "") if response is not None else ""
    if re.fullmatch(r"[0-9]{1,9}", wanted_pause):
        return float(wanted_pause)
    longest: float = min(LONGEST_PAUSE_S, 0.5 * 2 ** min(attempt, 6))
    return longest * random.uniform(0.5, 1.0)


def _require_success(response: requests.Response, *, has_token: bool) -> requests.Response:
    status = response.status_code
    if status < 400:
        return response
    code, detail, extra = _problem(response)
    if status == 401 and not has_token:
        detail = "You are not signed in: run `podium login URL`, or set PODIUM_TOKEN."
    kinds: dict[int, type[PodiumError]] = {
        400: InvalidInput,
        401: NotAllowed,
        403: NotAllowed,
        404: InvalidInput,
        422: InvalidInput,
    }
    kind = SiteUnreachable if status >= 500 else kinds.get(status, Refused)
    raise kind(detail, code=code or str(status), extra=extra)


def _problem(response: requests.Response) -> tuple[str, str, dict[str, object]]:
    """Code and sentence of a refusal (RFC 9457), and all of it."""
    try:
        problem = response.json()
    except requests.JSONDecodeError:
        problem = None
    if not isinstance(problem, dict):
        hint = " Is its address that of the site's first page?" if response.status_code == 404 else ""
        return "", f"The site answered {response.status_code} {response.reason}.{hint}", {}
    detail = str(problem.get("detail") or problem.get("title") or response.reason)
    fields = problem.get("fields")
    if isinstance(fields, dict) and fields:
        detail = "; ".join(f"{name}: {_sentences(faults)}" for name, faults in fields.items())
    return str(problem.get("code", "")), detail, problem


def _sentences(faults: Any) -> str:
    """The faults of one field: a list of sentences, or something deeper."""
    return " ".join(map(str, faults)) if isinstance(faults, list) else str(faults)


def _plain(error: Exception) -> str:
    """The innermost reason: the outer ones repeat it in the words of three libraries."""
    reason: BaseException = error
    while (inner := reason.__cause__ or reason.__context__) is not None:
        reason = inner
    return str(reason) or type(error).__name__

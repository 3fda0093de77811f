"""A package mirror: the simple index of a queue, and the wheels on it.

A worker calls no other host, wherever the mirror's pages may point.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import requests

from workers.errors import SandboxError, reading, unless_stopped

JSON: Final = "application/vnd.pypi.simple.v1+json"
ACCEPT: Final = f"{JSON}, text/html;q=0.2"
MAX_PAGE_BYTES: Final = 64 << 20
CHUNK_BYTES: Final = 1 << 20
TIMEOUT_S: Final = (10.0, 30.0)
MAX_REDIRECTS: Final = 5


@dataclass(frozen=True)
class IndexFile:
    """A file of a project: `sha256` where the index tells it, else empty."""

    name: str
    url: str
    sha256: str = ""


class TooLarge(Exception):
    """A file has more bytes than there is room for."""


class Mirror:
    """One simple index (PEP 503 or PEP 691). Addresses outside its own host are not followed.

    With `any_host` they are, by the proxies that the environment names: for an index that whoever runs this chose for
    themselves, such as the public one, whose files lie on another host.
    """

    def __init__(self, address: str, *, until: float, stop: Callable[[], bool], any_host: bool = False) -> None:
        self._address = address if address.endswith("/") else f"{address}/"
        self._until = until  # on the monotonic clock
        self._stop = stop
        self._session = requests.Session()
        self._session.trust_env = any_host
        self._any_host = any_host

    def files(self, project: str) -> list[IndexFile] | None:
        """Files of a project by its normalized name; None where the mirror has no such project.

        Raises `SandboxError` (`mirror_unreachable`) where it is away, too slow, or answers what is not an index.
        """
        with self._get(urljoin(self._address, f"{project}/"), {"Accept": ACCEPT}) as answer:
            if answer.status_code == 404:
                return None
            try:
                body = b"".join(self._chunks(answer, MAX_PAGE_BYTES))
            except TooLarge as error:
                raise _unreachable(f"its page of {project} has more than {MAX_PAGE_BYTES:,} bytes") from error
            kind, page = answer.headers.get("Content-Type", ""), answer.url
        with reading(lambda words: _unreachable(f"its page of {project} is not a simple index ({words})")):
            files = _of_json(body) if "json" in kind else _of_html(body)
        return [IndexFile(file.name, urljoin(page, file.url), file.sha256) for file in files]

    def fetch(self, file: IndexFile, target: Path, *, room: int) -> str:
        """Write a file to `target`; returns its SHA-256. Raises `TooLarge`, or `SandboxError` as `files` does."""
        digest = hashlib.sha256()
        with self._get(file.url, {}) as answer:
            if answer.status_code != 200:
                raise _unreachable(f"it lists {file.name} and answers {answer.status_code} for it")
            with target.open("wb") as sink:
                for chunk in self._chunks(answer, room):
                    digest.update(chunk)
                    sink.write(chunk)
        return digest.hexdigest()

    def _get(self, url: str, headers: dict[str, str]) -> requests.Response:
        """The answer at an address of this mirror, redirects within it followed."""
        for _ in range(MAX_REDIRECTS):
            self._require_own(url)
            try:
                answer = self._session.get(
                    url,
                    headers=headers | {"Accept-Encoding": "identity"},
                    timeout=TIMEOUT_S,
                    stream=True,
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                raise _unreachable(str(error)[:200]) from error
            if answer.status_code >= 500 or answer.status_code in (401, 403, 429):
                answer.close()
                raise _unreachable(f"it answers {answer.status_code}")
            if not answer.is_redirect:
                return answer
            url = urljoin(url, answer.headers["Location"])
            answer.close()
        raise _unreachable("it redirects without an end")

    def _require_own(self, url: str) -> None:
        own, target = urlsplit(self._address), urlsplit(url)
        if self._any_host and target.scheme in ("http", "https"):
            return
        if (own.scheme, own.netloc) != (target.scheme, target.netloc):
            raise _unreachable(f"it points to {target.scheme}://{target.netloc[:100]}, and only its own host is asked")

    def _chunks(self, answer: requests.Response, limit: int) -> Any:
        count = 0
        try:
            for chunk in unless_stopped(
                answer.iter_content(CHUNK_BYTES), self._stop, "an environment was not made to its end"
            ):
                count += len(chunk)
                if count > limit:
                    raise TooLarge
                if time.monotonic() > self._until:
                    raise _unreachable("it was too slow: the time for an environment was over")
                yield chunk
        except requests.RequestException as error:
            raise _unreachable(str(error)[:200]) from error


def _unreachable(what: str) -> SandboxError:
    return SandboxError("mirror_unreachable", f"the queue's package mirror cannot be used: {what}")


def _of_json(body: bytes) -> list[IndexFile]:
    files = json.loads(body)["files"]
    return [
        IndexFile(str(file["filename"]), str(file["url"]), str(file.get("hashes", {}).get("sha256", "")))
        for file in files
    ]


def _of_html(body: bytes) -> list[IndexFile]:
    reader = _Anchors()
    reader.feed(body.decode(errors="replace"))
    files = []
    for href in reader.found:
        url, _, fragment = href.partition("#")
        name = unquote(urlsplit(url).path.rpartition("/")[2])
        files.append(IndexFile(name, url, fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""))
    return files


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") if tag == "a" else None
        if href:
            self.found.append(href)

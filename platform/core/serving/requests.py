"""A request's head as WSGI names it."""

import sys
from http import HTTPStatus
from typing import IO, Final
from urllib.parse import unquote_to_bytes, urlsplit
from wsgiref.types import WSGIEnvironment

from tornado.httputil import HTTPHeaders, RequestStartLine

NAMED_WITHOUT_PREFIX: Final = {"Content-Type": "CONTENT_TYPE", "Content-Length": "CONTENT_LENGTH"}


def wsgi_environment(
    line: RequestStartLine, headers: HTTPHeaders, *, client: str, host: str, port: int
) -> WSGIEnvironment:
    """The WSGI environment without `wsgi.input`, and without headers that have an underscore.

    WSGI could not tell them from those with a hyphen.
    """
    path, _, query = _target(line.path).partition("?")
    environment: WSGIEnvironment = {
        "REQUEST_METHOD": line.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "RAW_URI": line.path,
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": line.version,
        "REMOTE_ADDR": client,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": StoredContent,
    }
    for name in headers:
        if "_" not in name:
            values = headers.get_list(name)
            key = NAMED_WITHOUT_PREFIX.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
            environment[key] = ("; " if name == "Cookie" else ",").join(values)
    return environment


def _target(target: str) -> str:
    """Path and query, also of a target that is a whole URL, as proxies get."""
    if not target.startswith(("http://", "https://")):
        return target
    parts = urlsplit(target)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


class StoredContent:
    """An answer's content that is a file; the loop sends it after the thread is free again."""

    def __init__(self, file: IO[bytes], block_size: int = 0) -> None:
        self.file = file


def parse_status(text: str) -> tuple[int, str]:
    """Number and words of a WSGI status."""
    code, _, reason = text.partition(" ")
    return int(code), reason or HTTPStatus(int(code)).phrase

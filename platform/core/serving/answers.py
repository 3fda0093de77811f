"""Answers of the application, held until the loop has sent them: slow clients hold no thread."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final
from wsgiref.types import WSGIEnvironment

from core.refusals import CONTENT_TYPE, FOR_PROGRAMS, Refusal, problem_document
from core.serving.receiving import Admission, Admitted
from core.serving.requests import StoredContent, parse_status

IN_MEMORY_BYTES: Final = 2 * 1024 * 1024  # of an answer that is waiting to be sent
BODILESS: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
Application = Callable[..., Iterable[bytes]]


@dataclass
class Answer:
    """Status, headers and the content as a file, whose closing ends the request."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    content: IO[bytes]
    admission: Admission | None = None  # of an answer that says that the body may come


def respond(application: Application, environment: WSGIEnvironment) -> Answer:
    """Call the application, in a thread."""
    head: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        head[:] = [status, headers]

    result = application(environment, start_response)
    if isinstance(result, StoredContent):
        return Answer(*parse_status(head[0]), head[1], result.file)
    content = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115  # closed when it has been sent
    try:
        for chunk in result:
            content.write(chunk)
    finally:
        if (close := getattr(result, "close", None)) is not None:
            close()
    code, reason = parse_status(head[0])
    headers = _with_length(head[1], code, content.tell())
    content.seek(0)
    return Answer(code, reason, headers, content, result.admission if isinstance(result, Admitted) else None)


def _with_length(headers: list[tuple[str, str]], code: int, size: int) -> list[tuple[str, str]]:
    """The headers with the content's length; an answer to HEAD keeps the length that it names."""
    is_named = any(name.lower() == "content-length" for name, _ in headers)
    if is_named and size == 0 and code != HTTPStatus.NO_CONTENT:
        return headers
    others = [(name, value) for name, value in headers if name.lower() != "content-length"]
    return others if code in BODILESS else [*others, ("Content-Length", str(size))]


def plain_answer(status: int, code: str, detail: str, *, path: str, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    """An answer of the server itself, which has no pages: a problem for programs, a sentence for people."""
    is_program = path.startswith(FOR_PROGRAMS)
    text = json.dumps(problem_document(status, code, detail)) if is_program else detail
    content = SpooledTemporaryFile()  # noqa: SIM115  # closed when it has been sent
    content.write(text.encode())
    size = content.tell()
    content.seek(0)
    kind = CONTENT_TYPE if is_program else "text/plain; charset=utf-8"
    described = [("Content-Type", kind), ("Content-Length", str(size)), ("Cache-Control", "no-store"), *headers]
    return Answer(*parse_status(str(status)), described, content)


def refusal_answer(refusal: Refusal, path: str) -> Answer:
    """A refusal that the server itself has to tell."""
    return plain_answer(refusal.http_status, refusal.code, refusal.detail, path=path)

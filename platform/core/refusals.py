"""The site's refusals: a stable code for programs, and a sentence for people with what to do now.

Every domain error that a client can act on is a `Refusal`. Pages, API and commands each have one handler for it. Most are
rows, a `RefusalKind` each; a class of its own is caught by name, or makes its sentence from more than the values given.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.http import JsonResponse

from files.refusals import InvalidFile, Refusal

__all__ = ["Conflict", "InvalidFile", "KnownRefusal", "NotAllowed", "Refusal", "RefusalKind"]


@dataclass(frozen=True)
class RefusalKind:
    """One way to be refused: `raise TEAM_FULL(limit=4)`.

    `sentence` and `next_step`, the address where to go on, are filled with the values. Programs get those that `tells` names.
    """

    http_status: int
    code: str
    sentence: str
    tells: tuple[str, ...] = ()
    next_step: str = ""

    def __call__(self, **values: object) -> "KnownRefusal":
        extra = {name: _json(values[name]) for name in self.tells}
        if self.next_step:
            extra["next_step"] = self.next_step.format_map(values)
        return KnownRefusal(self, self.sentence.format_map(values), **extra)


class KnownRefusal(Refusal):
    """A refusal of a `RefusalKind`."""

    def __init__(self, kind: RefusalKind, detail: str, **extra: object) -> None:
        super().__init__(detail, **extra)
        self.kind, self.code, self.http_status = kind, kind.code, kind.http_status


class NotAllowed(Refusal):
    code, http_status = "not_allowed", 403


class Conflict(Refusal):
    code, http_status = "conflict", 409


def _json(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


CONTENT_TYPE: Final = "application/problem+json"
FOR_PROGRAMS: Final = ("/api/", "/mcp")  # addresses at which nobody reads a page
PROBLEMS: Final = "/docs/reference/problems/"  # each code has a heading there


def problem_address(code: str) -> str:
    """The address at which the docs explain a code."""
    return f"{PROBLEMS}#{code.replace('_', '-')}"


def problem_document(status: int, code: str, detail: str, **extra: object) -> dict[str, object]:
    """The document; `extra` are further JSON members."""
    title = code.replace("_", " ")
    return {"type": problem_address(code), "title": title, "status": status, "code": code, "detail": detail} | extra


def problem_response(status: int, code: str, detail: str, **extra: object) -> JsonResponse:
    """The document as an answer."""
    return JsonResponse(problem_document(status, code, detail, **extra), status=status, content_type=CONTENT_TYPE)


def message_error(detail: str, code: str, **extra: object) -> dict[str, object]:
    """The document of a message that was refused before it was read (JSON-RPC), for the clients of `/mcp`."""
    invalid_request = -32600
    return {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": invalid_request, "message": detail, "data": {"code": code} | extra},
    }


def refusal_response(refusal: Refusal) -> JsonResponse:
    """A refusal as an answer."""
    return problem_response(refusal.http_status, refusal.code, refusal.detail, **refusal.extra)

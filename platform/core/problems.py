"""Errors as programs read them: problem documents of RFC 9457 with a stable `code`."""

from typing import Final

from django.http import JsonResponse

from core.refusals import Refusal

CONTENT_TYPE: Final = "application/problem+json"


def problem_document(status: int, code: str, detail: str, **extra: object) -> dict[str, object]:
    """The document; `extra` are further JSON members."""
    title = code.replace("_", " ")
    return {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail} | extra


def problem_response(status: int, code: str, detail: str, **extra: object) -> JsonResponse:
    """The document as an answer."""
    return JsonResponse(problem_document(status, code, detail, **extra), status=status, content_type=CONTENT_TYPE)


def refusal_response(refusal: Refusal) -> JsonResponse:
    """A refusal as an answer."""
    return problem_response(refusal.http_status, refusal.code, refusal.detail, **refusal.extra)

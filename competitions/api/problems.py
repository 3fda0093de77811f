"""Every error of the API as `application/problem+json` (RFC 9457) with a stable `code`."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_handler

from core.health import RETRY_AFTER_S, UNAVAILABLE, is_database_away
from core.refusals import CONTENT_TYPE, Refusal, problem_document


def exception_handler(error: Exception, context: dict[str, object]) -> Response | None:
    """DRF's hook. Returns None for a fault of the program, which becomes a 500 and is logged."""
    if isinstance(error, Refusal):
        return problem(error.http_status, error.code, error.detail, **error.extra)
    if isinstance(error, DjangoValidationError):
        return problem(422, "invalid", "; ".join(error.messages), fields=getattr(error, "message_dict", {}))
    if is_database_away(error):
        answer = problem(503, "unavailable", UNAVAILABLE)
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
        return answer
    response = drf_handler(error, context)
    if response is None:
        return None
    code, detail, extra = _describe(error)
    answer = problem(response.status_code, code, detail, **extra)
    for name in ("WWW-Authenticate", "Retry-After", "Allow"):
        if name in response.headers:
            answer.headers[name] = response.headers[name]
    return answer


def problem(status: int, code: str, detail: str, **extra: Any) -> Response:
    """A problem document; `extra` are further JSON members."""
    return Response(problem_document(status, code, detail, **extra), status=status, content_type=CONTENT_TYPE)


def _describe(error: Exception) -> tuple[str, str, dict[str, object]]:
    if isinstance(error, exceptions.ValidationError):
        fields = error.get_full_details()
        names = ", ".join(fields) if isinstance(fields, dict) else ""
        return (
            "invalid",
            f"The request has errors{f' in {names}' if names else ''}; `fields` says which.",
            {"fields": fields},
        )
    if isinstance(error, Http404):
        return "not_found", "There is nothing here, or you may not see it.", {}
    if isinstance(error, PermissionDenied):
        return "not_allowed", "You may not do this.", {}
    if isinstance(error, exceptions.APIException):
        codes = error.get_codes()
        return (codes if isinstance(codes, str) else error.default_code), str(error.detail), {}
    return "refused", str(error), {}

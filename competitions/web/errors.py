"""Pages for what is not there, not allowed, or broken."""

import sys
from typing import Final

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from competitions.web.middleware import refusal_answer
from core.health import RETRY_AFTER_S, UNAVAILABLE, is_database_away
from core.refusals import FOR_PROGRAMS, Refusal, problem_response

TOO_LARGE: Final = "What you sent is larger than a form may be. Send files as uploads, and long texts in parts."
NOT_UNDERSTOOD: Final = "The site did not understand this request. Check its address and try again."


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith("/api/"):  # whoever speaks to an address that no API has is a program
        detail = (
            "There is nothing here, or it is not yours to see. The addresses of the API are listed at /api/v1/docs/."
        )
        return problem_response(404, "not_found", detail)
    return render(request, "web/errors/404.html", status=404)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """413 for a form that is larger than the site takes; else 400."""
    if isinstance(exception, Refusal):
        return refusal_answer(request, exception)
    is_too_big = isinstance(exception, RequestDataTooBig | TooManyFieldsSent)
    status, code, detail = (413, "too_large", TOO_LARGE) if is_too_big else (400, "bad_request", NOT_UNDERSTOOD)
    if request.path.startswith(FOR_PROGRAMS):
        return problem_response(status, code, detail)
    return render(request, f"web/errors/{status}.html", status=status)


def too_many_requests(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Called by the library that counts sign-ins, sign-ups and mails."""
    return render(request, "web/errors/429.html", status=429)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "web/errors/403.html", status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 for a form whose secret is out of date, or whose browser keeps no cookies."""
    return render(request, "web/errors/403_csrf.html", status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """503 while the database is away, which is temporary; else 500. Called by Django."""
    if is_database_away(sys.exception()):
        return _unavailable(request)
    return render(request, "web/errors/500.html", status=500)


def _unavailable(request: HttpRequest) -> HttpResponse:
    answer: HttpResponse
    if request.path.startswith(FOR_PROGRAMS):
        answer = problem_response(503, "unavailable", UNAVAILABLE)
    else:
        answer = render(request, "web/errors/503.html", status=503)
    answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer

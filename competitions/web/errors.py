"""Pages for what is not there, not allowed, or broken."""

import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.health import RETRY_AFTER_S, UNAVAILABLE, is_database_away
from core.problems import problem_response


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith("/api/"):  # whoever speaks to an address that no API has is a program
        detail = (
            "There is nothing here, or it is not yours to see. The addresses of the API are listed at /api/v1/docs/."
        )
        return problem_response(404, "not_found", detail)
    return render(request, "web/404.html", status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "web/403.html", status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its secret: the page was open while its reader signed in anew, or the browser keeps no cookies."""
    return render(request, "web/403_csrf.html", status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    """503 while the database is away, which mends itself; else 500. Django calls this while it handles the exception."""
    if is_database_away(sys.exception()):
        return _unavailable(request)
    return render(request, "web/500.html", status=500)


def _unavailable(request: HttpRequest) -> HttpResponse:
    answer: HttpResponse
    if request.path.startswith("/api/"):
        answer = problem_response(503, "unavailable", UNAVAILABLE)
    else:
        answer = render(request, "web/503.html", status=503)
    answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer

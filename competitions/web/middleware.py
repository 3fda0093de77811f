"""Turns a `Refusal` that a page's view raised into a page that says what happened and what to do."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from core.refusals import Refusal


class RefusalMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, Refusal):
            return None
        context = {"refusal": error, "back": came_from(request)}
        return render(request, "web/refusal.html", context, status=error.http_status)


def came_from(request: HttpRequest) -> str:
    """The page of this site that the form was on, or nothing."""
    referer = request.headers.get("Referer", "")
    known = url_has_allowed_host_and_scheme(referer, allowed_hosts={request.get_host()})
    return referer if known and referer != request.build_absolute_uri() else ""

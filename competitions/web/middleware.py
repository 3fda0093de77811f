"""Turns a `Refusal` that a page's view raised into words: on the page that the refused form is on, else on a page of its own."""

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from competitions.web.refused_forms import back_to_form
from core.refusals import Refusal


class RefusalMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, Refusal):
            return None
        if "HX-Request" in request.headers:
            return toast_of(error)
        page = came_from(request)
        if request.method == "POST" and page:
            return back_to_form(request, error, page)
        context = {"refusal": error, "back": page}
        return render(request, "web/errors/refusal.html", context, status=error.http_status)


def toast_of(refusal: Refusal) -> HttpResponse:
    """For htmx, which leaves the page as it is: the page's script shows the sentence (`toasts.js`)."""
    toast = {"text": refusal.detail, "tag": "error", "url": refusal.extra.get("next_step", "")}
    return HttpResponse(status=refusal.http_status, headers={"HX-Trigger": json.dumps({"toast": toast})})


def came_from(request: HttpRequest) -> str:
    """The page of this site that the form was on, or that the link was on; nothing where that would be the refused page itself."""
    referer = request.headers.get("Referer", "")
    known = url_has_allowed_host_and_scheme(referer, allowed_hosts={request.get_host()})
    leads_here = request.method != "POST" and referer == request.build_absolute_uri()
    return referer if known and not leads_here else ""

"""Refusals of pages in words, and the question before each body: may it come."""

import json
from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme

from competitions.web.refused_forms import back_to_form
from core.refusals import Refusal, message_error, problem_address, refusal_response
from core.serving.receiving import admit

MESSAGES: Final = "/mcp"


class BodyMiddleware(MiddlewareMixin):
    """Checks who sends a body, and that the address takes it, before `CsrfViewMiddleware` reads it."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, object]
    ) -> HttpResponseBase | None:
        try:
            return admit(request, view, kwargs)
        except Refusal as refusal:
            return refusal_answer(request, refusal)


class RefusalMiddleware(MiddlewareMixin):
    """Shows a view's `Refusal` on the page that the form is on, else on a page of its own."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, Refusal):
            return None
        if "HX-Request" in request.headers:
            return refusal_toast(error)
        page = came_from(request)
        if request.method == "POST" and page:
            return back_to_form(request, error, page)
        return refusal_page(request, error)


def refusal_answer(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """As whoever asks reads it: a program, the page's script, or a person."""
    if request.path == MESSAGES:
        return JsonResponse(message_error(refusal.detail, refusal.code, **refusal.extra), status=refusal.http_status)
    if request.path.startswith("/api/"):
        return refusal_response(refusal)
    return refusal_toast(refusal) if "HX-Request" in request.headers else refusal_page(request, refusal)


def refusal_page(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """A page of its own, that leads back."""
    context = {"refusal": refusal, "back": came_from(request), "explained_at": problem_address(refusal.code)}
    return render(request, "web/errors/refusal.html", context, status=refusal.http_status)


def refusal_toast(refusal: Refusal) -> HttpResponse:
    """For htmx, which leaves the page as it is: the page's script shows the sentence (`toasts.js`)."""
    toast = {"text": refusal.detail, "tag": "error", "url": refusal.extra.get("next_step", "")}
    return HttpResponse(status=refusal.http_status, headers={"HX-Trigger": json.dumps({"toast": toast})})


def came_from(request: HttpRequest) -> str:
    """The page of this site with the form or link; empty if that is the refused page itself."""
    referer = request.headers.get("Referer", "")
    known = url_has_allowed_host_and_scheme(referer, allowed_hosts={request.get_host()})
    leads_here = request.method != "POST" and referer == request.build_absolute_uri()
    return referer if known and not leads_here else ""

"""Refusals and errors of pages in words: at the form that was refused, or on a page of their own."""

import json
import sys
from collections.abc import Callable
from typing import Any, Final, TypedDict
from urllib.parse import urlsplit

from django.contrib import messages
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import linebreaksbr
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString

from core.health import RETRY_AFTER_S, UNAVAILABLE, is_database_away
from core.refusals import FOR_PROGRAMS, Refusal, message_error, problem_address, problem_response, refusal_response
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
    """The refusal in the form that fits who asks: a program, the page's script, or a person."""
    if request.path == MESSAGES:
        return JsonResponse(message_error(refusal.detail, refusal.code, **refusal.extra), status=refusal.http_status)
    if request.path.startswith("/api/"):
        return refusal_response(refusal)
    return refusal_toast(refusal) if "HX-Request" in request.headers else refusal_page(request, refusal)


def refusal_page(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """A page of its own, that leads back."""
    context = {
        "refusal": refusal,
        "back": came_from(request),
        "explained_at": problem_address(refusal.code),
    }
    return render(request, "web/errors/refusal.html", context, status=refusal.http_status)


def refusal_toast(refusal: Refusal) -> HttpResponse:
    """The refusal for htmx, which leaves the page as it is: `toasts.js` shows the sentence."""
    toast = {
        "text": refusal.detail,
        "tag": "error",
        "url": refusal.extra.get("next_step", ""),
        "label": refusal.step_label,
    }
    return HttpResponse(status=refusal.http_status, headers={"HX-Trigger": json.dumps({"toast": toast})})


def came_from(request: HttpRequest) -> str:
    """The page of this site with the form or link; empty if that is the refused page itself."""
    referer = request.headers.get("Referer", "")
    known = url_has_allowed_host_and_scheme(referer, allowed_hosts={request.get_host()})
    leads_here = request.method != "POST" and referer == request.build_absolute_uri()
    return referer if known and not leads_here else ""


KEY: Final = "refused_form"  # in the session: the page that the form is on, and its values
MAX_CHARS: Final = 20_000  # of all values together; a session is not a place for more
NOT_KEPT: Final = ("csrfmiddlewaretoken", "idempotency_key")


class RefusedForm(TypedDict):
    path: str
    values: dict[str, str]


def wants_json(request: HttpRequest) -> bool:
    """True for a page's script that sends the form by itself."""
    return request.headers.get("Accept", "") == "application/json"


def back_to_form(request: HttpRequest, refusal: Refusal, page: str) -> HttpResponse:
    """Lead to the form's page, which says what was wrong and fills the form in again; a script gets JSON."""
    if wants_json(request):
        return refusal_response(refusal)
    values = {
        name: value for name, value in request.POST.dict().items() if name not in NOT_KEPT and "password" not in name
    }
    if sum(len(str(value)) for value in values.values()) <= MAX_CHARS:
        request.session[KEY] = RefusedForm(path=urlsplit(page).path, values=values)
    messages.error(request, refusal_sentence(refusal))
    return redirect(page)


def refusal_sentence(refusal: Refusal) -> SafeString:
    """The refusal as HTML, with a link to the step that comes first."""
    detail = linebreaksbr(refusal.detail, autoescape=True)
    if next_step := refusal.extra.get("next_step"):
        return format_html('{} <a href="{}">{}</a>', detail, next_step, refusal.step_label)
    return format_html("{}", detail)


def entered_values(request: HttpRequest) -> dict[str, str]:
    """Values that were entered on this page and refused just before, by field; they are given once."""
    refused_form: RefusedForm | None = request.session.get(KEY)
    if refused_form is None or refused_form["path"] != request.path:
        return {}
    del request.session[KEY]
    return refused_form["values"]


def entered(request: HttpRequest) -> dict[str, object]:
    """Context processor: `entered`, read by the pages with forms alone."""
    return {"entered": SimpleLazyObject(lambda: entered_values(request))}


TOO_LARGE: Final = "What you sent is larger than a form may be. Send files as uploads, and long texts in parts."
NOT_UNDERSTOOD: Final = "The site did not understand this request. Check its address and try again."


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith("/api/"):  # whoever speaks to an address that no API has is a program
        detail = "There is nothing here, or you may not see it. The addresses of the API are listed at /api/v1/docs/."
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

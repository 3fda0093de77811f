"""A form that was refused: its page comes back with what was wrong and what was entered."""

from typing import Final, TypedDict
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import linebreaksbr
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.refusals import Refusal, refusal_response

KEY: Final = "refused_form"  # in the session: the page that the form is on, and its values
MAX_CHARS: Final = 20_000  # of all values together; a session is no place for more
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
        return format_html('{} <a href="{}">Go there</a>', detail, next_step)
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

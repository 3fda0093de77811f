"""The site's own colours, logo, imprint and privacy page, as its operator sets them."""

from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.cache import cache_control

from accounts.views import open_page
from core.branding import LEGAL_PAGES, LOGO_TYPES
from files import markup

KEPT_S = 3600  # a new brand is there within an hour


@open_page
@cache_control(public=True, max_age=KEPT_S)
def colours(request: HttpRequest) -> HttpResponse:
    return HttpResponse(settings.BRAND.css, content_type="text/css; charset=utf-8")


@open_page
@cache_control(public=True, max_age=KEPT_S)
def sign(request: HttpRequest) -> HttpResponseBase:
    logo = settings.BRAND.logo
    if logo is None:
        raise Http404
    return HttpResponse(logo.read_bytes(), content_type=LOGO_TYPES[logo.suffix.lower()])


@open_page
def legal(request: HttpRequest, name: str) -> HttpResponseBase:
    """The imprint or the privacy page, from the operator's file of Markdown or at another address."""
    source = settings.BRAND.legal.get(name)
    if source is None:
        raise Http404
    if source.startswith("https://"):
        return redirect(source)
    html = markup.render(Path(source).read_text("utf-8"), "markdown").shown(markup.no_images)
    return render(request, "web/home/legal.html", {"title": LEGAL_PAGES[name], "text": mark_safe(html)})

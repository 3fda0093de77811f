"""The organizer's workspace: its first page, the compute of a month, and webhooks."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.views import person, posted
from competitions.catalog.models import Competition
from competitions.disclosure.readers import reader_for
from competitions.organize.views.editing.changes import render_page
from competitions.organize.workspace.overview import overview_context
from competitions.organize.workspace.usage import competition_usage
from competitions.runs.accounting.usage import Month, slots_in, usage_csv
from competitions.web.views.webhooks import WebhookForm, add_webhook
from competitions.webhooks.services import webhooks_for


def managed_competition(request: HttpRequest, slug: str) -> Competition:
    """A competition that the asker organizes; any other does not exist."""
    return get_object_or_404(Competition.objects.managed_by(person(request)).select_related("queue"), slug=slug)


@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """The overview: what needs attention, numbers, and charts of the last weeks."""
    competition = managed_competition(request, slug)
    context = overview_context(competition, reader_for(person(request), timezone.now()))
    return render_page(request, competition, "organize/workspace/overview.html", context, tab="overview")


@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """The webhooks of the competition's organizers, and a form to add one."""
    competition = managed_competition(request, slug)
    form = WebhookForm(posted(request))
    if request.method == "POST" and form.is_valid():
        return add_webhook(request, form, competition, None)
    context = {"form": form, "webhooks": webhooks_for(competition=competition, team=None)}
    status = 422 if form.is_bound else 200
    return render_page(request, competition, "organize/workspace/webhooks.html", context, tab="webhooks", status=status)


def shown_month(request: HttpRequest, now: datetime) -> Month:
    """The month that the address names, else the present one. Raises `MONTH_INVALID`."""
    text = request.GET.get("month", "")
    return Month.parse(text) if text else Month.at(now)


@require_safe
def usage(request: HttpRequest, slug: str) -> HttpResponse:
    """The competition's use by phase and team, and what is left of its GPU hours."""
    competition, now = managed_competition(request, slug), timezone.now()
    context = {"usage": competition_usage(competition, shown_month(request, now), now=now)}
    return render_page(request, competition, "organize/usage/usage.html", context, tab="compute")


@require_safe
def usage_file(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The same as CSV."""
    competition, now = managed_competition(request, slug), timezone.now()
    month = shown_month(request, now)
    slots = slots_in(month, now=now).filter(competition=competition)
    return usage_csv(slots, month, name=f"{competition.slug}-compute-{month}")

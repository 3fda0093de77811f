"""The organizer's workspace."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.views import person
from competitions.catalog.models import Competition
from competitions.disclosure.readers import reader_for
from competitions.organize.views.changes import render_page
from competitions.organize.workspace.overview import overview_context


def managed_competition(request: HttpRequest, slug: str) -> Competition:
    """A competition that the asker organizes; any other does not exist."""
    return get_object_or_404(Competition.objects.managed_by(person(request)).select_related("queue"), slug=slug)


@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """The overview: what needs attention, numbers, and charts of the last weeks."""
    competition = managed_competition(request, slug)
    context = overview_context(competition, reader_for(person(request), timezone.now()))
    return render_page(request, competition, "organize/workspace/overview.html", context, tab="overview")

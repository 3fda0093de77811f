"""Webhooks of the organizers in their workspace."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from competitions.organize.views.changes import render_page
from competitions.organize.views.workspace import managed_competition
from competitions.web.views.webhooks import WebhookForm, add_webhook
from competitions.webhooks.services import webhooks_for


@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """Those of the competition's organizers; adding one."""
    competition = managed_competition(request, slug)
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return add_webhook(request, form, competition, None)
    context = {"form": form, "webhooks": webhooks_for(competition=competition, team=None)}
    status = 422 if form.is_bound else 200
    return render_page(request, competition, "organize/workspace/webhooks.html", context, tab="webhooks", status=status)

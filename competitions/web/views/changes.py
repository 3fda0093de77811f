"""Changes of a competition's scoring: the proposals that were applied, for everybody."""

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from competitions.catalog.models import Proposal
from competitions.web.presentation.proposals import shown_standings
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit

SHOWN = 100


@login_not_required
@require_safe
def changes(request: HttpRequest, slug: str) -> HttpResponse:
    """Every applied proposal, the newest first."""
    visited = visit(request, slug)
    applied = Proposal.objects.filter(competition=visited.competition, state=Proposal.State.APPLIED)
    context = {"proposals": applied.order_by("-ended_at")[:SHOWN]}
    return render_tab(request, visited, "web/competition/changes.html", context, tab="changes")


@login_not_required
@require_safe
def change(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One applied proposal: why, what was replaced, and every board before and after."""
    visited = visit(request, slug)
    rows = Proposal.objects.select_related("board__phase")
    applied = rows.filter(competition=visited.competition, state=Proposal.State.APPLIED, number=number).first()
    if applied is None:
        raise Http404
    context = {
        "proposal": applied,
        "files": applied.files.select_related("task", "resource", "replaces"),
        "standings": shown_standings(applied, visited.reader, would=False),
    }
    return render_tab(request, visited, "web/competition/change.html", context, tab="changes")

"""Phases in the workspace: in order with dates; edit with a preview of effects, add, delete."""

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.catalog.changes.change import phase_costs
from competitions.catalog.models import Competition
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.phases import PhaseForm, new_phase_values, phase_delete
from competitions.organize.views.editing.changes import change_page, render_page
from competitions.organize.views.workspace import managed_competition
from competitions.web.presentation.timeline import timeline


@require_safe
def phases(request: HttpRequest, slug: str) -> HttpResponse:
    """Every phase in order, with how far it is, what it takes, and how much came in."""
    competition, now = managed_competition(request, slug), timezone.now()
    phases = list(
        competition.phases.prefetch_related("leaderboards").annotate(made=Count("submissions")).order_by("index", "pk")
    )
    context = {"phases": list(zip(phases, timeline(phases, now), strict=True))}
    return render_page(request, competition, "organize/editing/phases.html", context, tab="phases")


@require_http_methods(["GET", "HEAD", "POST"])
def phase(request: HttpRequest, slug: str, pk: int | None = None) -> HttpResponse:
    """Change a phase, or add one."""
    competition = managed_competition(request, slug)
    before = None if pk is None else get_object_or_404(competition.phases, pk=pk)

    def make(data: QueryDict | None) -> PhaseForm:
        if before is None:
            if data:  # phases are numbered one after the other
                Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
            initial = new_phase_values(competition, timezone.now())
            return PhaseForm(competition, data, by=person(request), initial=initial)
        rows = competition.phases.select_for_update(no_key=True, of=("self",)) if data else competition.phases.all()
        return PhaseForm(competition, data, by=person(request), instance=get_object_or_404(rows, pk=before.pk))

    def context(form: ChangeForm) -> dict[str, object]:
        if before is None:
            return {"phase": None, "made": 0, "costs": []}
        return {"phase": before, "made": before.submissions.count(), "costs": phase_costs(before)}

    title = f"Phase “{before.name}”" if before else "New phase"
    return change_page(
        request, make, tab="phases", title=title, template="organize/editing/phase.html", context=context
    )


@require_POST
def delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Delete a phase to which nobody submitted."""
    chosen = get_object_or_404(managed_competition(request, slug).phases, pk=pk)
    phase_delete(chosen)
    messages.success(request, f"The phase “{chosen.name}” was deleted.")
    return redirect("organize:phases", slug)

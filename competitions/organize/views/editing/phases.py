"""Phases and their boards in the workspace: in order, edited with a preview of effects, deleted."""

from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.catalog.changes.change import phase_costs
from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.disclosure.readers import Reader
from competitions.leaderboards.reading.uncertainty import foreseen_differences, remarks_on_uncertainty
from competitions.organize.editing.boards import BoardForm, LaneForm
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.deletions import board_deletion
from competitions.organize.editing.phases import PhaseForm, new_phase_values, phase_delete
from competitions.organize.views.editing.changes import change_page, delete_page, render_page
from competitions.organize.views.workspace import managed_competition
from competitions.web.presentation.timeline import timeline
from competitions.winners.models import Lane


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
def phase_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Delete a phase to which nobody submitted."""
    chosen = get_object_or_404(managed_competition(request, slug).phases, pk=pk)
    phase_delete(chosen)
    messages.success(request, f"The phase “{chosen.name}” was deleted.")
    return redirect("organize:phases", slug)


@require_safe
def boards(request: HttpRequest, slug: str) -> HttpResponse:
    """Every board with its columns, by phase."""
    competition = managed_competition(request, slug)
    phases = competition.phases.prefetch_related("leaderboards__columns", "leaderboards__phase").order_by("index", "pk")
    all_boards = [board for phase in phases for board in phase.leaderboards.all()]
    reader = Reader(request.user, now=timezone.now())
    remarks, foreseen = remarks_on_uncertainty(reader, all_boards), foreseen_differences(reader, all_boards)
    shown = [
        (phase, [(board, remarks.get(board.pk, ""), foreseen.get(board.pk)) for board in phase.leaderboards.all()])
        for phase in phases
    ]
    return render_page(request, competition, "organize/editing/boards.html", {"phases": shown}, tab="boards")


@require_http_methods(["GET", "HEAD", "POST"])
def board(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Change a board and its columns."""
    competition = managed_competition(request, slug)
    before = get_object_or_404(Leaderboard.objects.select_related("phase"), pk=pk, phase__competition=competition)

    def make(data: QueryDict | None) -> BoardForm:
        if data:  # ranking again may need the phase, and it comes first
            Phase.objects.select_for_update(no_key=True).get(pk=before.phase_id)
        rows = Leaderboard.objects.select_for_update(of=("self",), no_key=True) if data else Leaderboard.objects.all()
        instance = get_object_or_404(rows.select_related("phase"), pk=before.pk)
        return BoardForm(competition, data, phase=instance.phase, instance=instance)

    return _board_page(request, make, f"Board “{before.title}”", before.phase)


@require_http_methods(["GET", "HEAD", "POST"])
def new_board(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A further board of a phase, or its first one."""
    phase = get_object_or_404(managed_competition(request, slug).phases.select_related("competition"), pk=pk)

    def make(data: QueryDict | None) -> BoardForm:
        if data:
            Phase.objects.select_for_update(no_key=True).get(pk=phase.pk)
        return BoardForm(phase.competition, data, phase=phase)

    return _board_page(request, make, f"New board of “{phase.name}”", phase)


@require_http_methods(["GET", "HEAD", "POST"])
def board_delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Say what goes with a board, then delete it."""
    competition = managed_competition(request, slug)
    chosen = get_object_or_404(Leaderboard.objects.select_related("phase"), pk=pk, phase__competition=competition)
    return delete_page(request, competition, chosen, board_deletion, tab="boards")


@require_http_methods(["GET", "HEAD", "POST"])
def winners(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Change the winners' lane of a board."""
    competition = managed_competition(request, slug)
    boards = Leaderboard.objects.select_related("phase__competition")
    chosen = get_object_or_404(boards, pk=pk, phase__competition=competition)

    def make(data: QueryDict | None) -> LaneForm:
        lanes = Lane.objects.filter(leaderboard=chosen)
        if data:
            Leaderboard.objects.select_for_update(no_key=True, of=("self",)).get(pk=chosen.pk)
            lanes = lanes.select_for_update(no_key=True)  # a verification writes there which run its baseline has
        return LaneForm(chosen, data, instance=lanes.first())

    return change_page(request, make, tab="boards", title=f"Winners of “{chosen.title}”")


def _board_page(request: HttpRequest, make: Any, title: str, phase: Phase) -> HttpResponse:
    def context(form: ChangeForm) -> dict[str, object]:
        assert isinstance(form, BoardForm)
        return {"phase": phase, "columns": form.columns, "board": form.instance if form.instance.pk else None}

    return change_page(
        request, make, tab="boards", title=title, template="organize/editing/board.html", context=context
    )

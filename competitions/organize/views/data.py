"""Data in the workspace: the files of tasks and phases, and new versions of them."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from competitions.catalog.models import Competition
from competitions.organize.editing.data import (
    OF_PHASES,
    OF_TASKS,
    Slot,
    confirmation_of,
    consequences,
    file_replace,
    slots_of,
    upload_check,
)
from competitions.organize.views.access import upload_named, upload_of
from competitions.organize.views.workspace import competition_of
from competitions.organize.workspace.submissions import PAGE_SIZE
from competitions.runs.models import Run
from competitions.runs.records.outdated import outdated_submissions
from competitions.web.presentation.table_head import table_head
from competitions.web.views.teams import person
from core.refusals import Refusal


@require_safe
@login_required
def data(request: HttpRequest, slug: str) -> HttpResponse:
    """Every file of the competition by task and phase. `?outdated=yes`: and which submissions ran with former versions."""
    competition = competition_of(request, slug)
    tasks = competition.tasks.filter(dataset=None).select_related(*(f"{name}__file" for name in OF_TASKS))
    phases = competition.phases.select_related(*(f"{name}__file" for name in OF_PHASES)).order_by("index", "pk")
    runs = Run.objects.filter(submission__phase__competition=competition)
    outdated = sorted(outdated_submissions(runs)) if "outdated" in request.GET else None
    context = {
        "competition": competition,
        "tab": "data",
        "groups": [(row, [(slot, _head(slot)) for slot in slots_of(row)]) for row in (*tasks, *phases)],
        "outdated": outdated,
        "outdated_first": (outdated or [])[:PAGE_SIZE],
    }
    return render(request, "organize/data.html", context)


def _head(slot: Slot) -> Any:
    return table_head(slot.resource) if slot.resource else None


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def file(request: HttpRequest, slug: str, owner: str, pk: int, name: str) -> HttpResponse:
    """Take an upload for a place, by the page's script or in the form; say what it does, and put it there once that is confirmed."""
    competition = competition_of(request, slug)
    slot = _slot(competition, owner, pk, name)
    if request.method != "POST":
        return _confirm_page(request, competition, slot)
    if "confirmed" in request.POST:
        return _replace(request, competition, slot, request.POST["confirmed"])
    wants_json = request.headers.get("Accept", "") == "application/json"
    try:
        upload = upload_of(request)
        upload_check(slot, upload, person(request))
    except Refusal as refusal:
        if not wants_json:
            raise
        return JsonResponse({"code": refusal.stable_code, "detail": refusal.detail}, status=refusal.http_status)
    url = f"{request.path}?upload={upload.key}"
    return JsonResponse({"url": url}, status=201) if wants_json else redirect(url)


def _slot(competition: Competition, owner: str, pk: int, name: str) -> Slot:
    rows: Any = {"task": competition.tasks.filter(dataset=None), "phase": competition.phases}.get(owner)
    if rows is None or name not in (OF_TASKS if owner == "task" else OF_PHASES):
        raise Http404
    return Slot(get_object_or_404(rows.select_related(f"{name}__file"), pk=pk), name)


def _confirm_page(request: HttpRequest, competition: Competition, slot: Slot) -> HttpResponse:
    context = {
        "competition": competition,
        "tab": "data",
        "slot": slot,
        "upload": upload_named(request, request.GET.get("upload", "")),
        "sentences": consequences(slot, competition),
        "confirmation": confirmation_of(slot, competition),
    }
    return render(request, "organize/file.html", context)


def _replace(request: HttpRequest, competition: Competition, slot: Slot, confirmed: str) -> HttpResponse:
    upload = upload_named(request, request.POST.get("upload", ""))
    made = file_replace(slot=slot, competition=competition, upload=upload, by=person(request), confirmed=confirmed)
    messages.success(request, f"{slot.label} of “{slot.row.name}” is now {made.file_name}.")
    return redirect(reverse("organize:data", args=[competition.slug]) + "?outdated=yes")

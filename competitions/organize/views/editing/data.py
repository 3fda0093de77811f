"""Data in the workspace: files of tasks and phases, new versions of them, and organizers' solutions."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.catalog.models import Competition, Phase, Solution
from competitions.organize.editing import data as slots
from competitions.organize.editing.data import TaskForm, competition_tasks
from competitions.organize.editing.deletions import task_deletion
from competitions.organize.forms import PAGE_SIZE, ConfirmedForm, SolutionForm
from competitions.organize.views.access import answer_upload, upload_named
from competitions.organize.views.editing.changes import change_page, delete_page, render_page
from competitions.organize.views.workspace import managed_competition
from competitions.resources.downloads import stored_response
from competitions.resources.models import Upload
from competitions.resources.rooms import takes_uploads
from competitions.resources.table_heads import table_head
from competitions.runs.models import Run
from competitions.runs.records.outdated import outdated_submissions
from competitions.runs.reruns import solution_run
from competitions.submissions.models import Submission
from competitions.web.forms import UploadForm, cleaned
from files.bundles.schema import PHASE_FILES, TASK_FILES


@require_safe
def data(request: HttpRequest, slug: str) -> HttpResponse:
    """Every file of the competition by task and phase; `?outdated=yes` adds submissions to run again."""
    competition = managed_competition(request, slug)
    tasks = competition.tasks.filter(dataset=None).select_related(*(f"{name}__file" for name in TASK_FILES))
    tasks = tasks.prefetch_related("phases")
    phases = competition.phases.select_related(*(f"{name}__file" for name in PHASE_FILES)).order_by("index", "pk")
    runs = Run.objects.filter(submission__phase__competition=competition)
    outdated = sorted(outdated_submissions(runs)) if "outdated" in request.GET else None
    context = {
        "groups": [
            (row, [(slot, table_head(slot.resource) if slot.resource else None) for slot in slots.file_slots(row)])
            for row in (*tasks, *phases)
        ],
        "solutions": solution_rows(competition),
        "outdated": outdated,
        "outdated_first": (outdated or [])[:PAGE_SIZE],
    }
    return render_page(request, competition, "organize/editing/data.html", context, tab="data")


@takes_uploads(lambda request, slug, **place: managed_competition(request, slug))
@require_http_methods(["GET", "HEAD", "POST"])
def file(request: HttpRequest, slug: str, owner: str, pk: int, name: str) -> HttpResponse:
    """Take an upload for a place, by script or form; show its effects, and store it once confirmed."""
    competition = managed_competition(request, slug)
    slot = _slot(competition, owner, pk, name)
    if request.method != "POST":
        return _confirm_page(request, competition, slot)
    if "confirmed" in request.POST:
        return _replace(request, competition, slot)

    def take(upload: Upload) -> str:
        slots.upload_check(slot, upload, person(request))
        return f"{request.path}?upload={upload.key}"

    return answer_upload(request, take)


@require_http_methods(["GET", "HEAD", "POST"])
def task(request: HttpRequest, slug: str, pk: int | None = None) -> HttpResponse:
    """Name a task, or add one with the programs of another."""
    competition = managed_competition(request, slug)
    before = None if pk is None else get_object_or_404(competition_tasks(competition), pk=pk)

    def make(data: QueryDict | None) -> TaskForm:
        rows = (
            competition_tasks(competition).select_for_update(of=("self",), no_key=True)
            if data
            else competition_tasks(competition)
        )
        instance = None if before is None else get_object_or_404(rows, pk=before.pk)
        return TaskForm(competition, data, by=person(request), instance=instance)

    title = f"Task “{before.name}”" if before else "New task"
    phases = list(before.phases.filter(competition=competition).order_by("index", "pk")) if before else []
    has_others = competition_tasks(competition).exists()
    return change_page(
        request,
        make,
        tab="data",
        title=title,
        template="organize/editing/task.html",
        context=lambda form: {"task": before, "phases": phases, "has_others": has_others},
    )


@require_http_methods(["GET", "HEAD", "POST"])
def task_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Say what goes with a task, then delete it."""
    competition = managed_competition(request, slug)
    chosen = get_object_or_404(competition_tasks(competition), pk=pk)
    return delete_page(request, competition, chosen, partial(task_deletion, competition=competition), tab="data")


def _slot(competition: Competition, owner: str, pk: int, name: str) -> slots.Slot:
    rows: Any = {"task": competition.tasks.filter(dataset=None), "phase": competition.phases}.get(owner)
    if rows is None or name not in (TASK_FILES if owner == "task" else PHASE_FILES):
        raise Http404
    return slots.Slot(get_object_or_404(rows.select_related(f"{name}__file"), pk=pk), name)


def _confirm_page(request: HttpRequest, competition: Competition, slot: slots.Slot) -> HttpResponse:
    context = {
        "slot": slot,
        "upload": upload_named(request, cleaned(UploadForm(request.GET))["upload"]),
        "sentences": slots.consequences(slot, competition),
        "confirmation": slots.replacement_confirmation(slot, competition),
    }
    return render_page(request, competition, "organize/editing/file.html", context, tab="data")


def _replace(request: HttpRequest, competition: Competition, slot: slots.Slot) -> HttpResponse:
    values = cleaned(ConfirmedForm(request.POST))
    resource = slots.file_replace(
        slot=slot,
        competition=competition,
        upload=upload_named(request, values["upload"]),
        by=person(request),
        confirmed=values["confirmed"],
    )
    messages.success(request, f"{slot.label} of “{slot.row.name}” is now {resource.file_name}.")
    return redirect(reverse("organize:data", args=[competition.slug]) + "?outdated=yes")


@dataclass(frozen=True)
class SolutionRow:
    """A solution, the phases that have a task of it, and its newest run."""

    solution: Solution
    phases: list[Phase]
    latest: Submission | None


def solution_rows(competition: Competition) -> list[SolutionRow]:
    """Every solution of the competition, in a few queries for any number of them."""
    solutions = list(competition.solutions.select_related("resource__file").prefetch_related("tasks"))
    phases = list(competition.phases.prefetch_related("tasks").order_by("index", "pk")) if solutions else []
    own = Submission.objects.filter(solution=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    newest = competition.solutions.order_by().annotate(newest=Subquery(own)).values("newest")
    latest = {submission.solution_id: submission for submission in Submission.objects.filter(pk__in=newest)}
    return [
        SolutionRow(
            solution,
            [phase for phase in phases if set(phase.tasks.all()) & set(solution.tasks.all())],
            latest.get(solution.pk),
        )
        for solution in solutions
    ]


def _solution(competition: Competition, pk: int) -> Solution:
    return get_object_or_404(competition.solutions.select_related("resource__file"), pk=pk)


@require_safe
def solution_file(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    resource = _solution(managed_competition(request, slug), pk).resource
    return stored_response(request, resource.file, file_name=resource.file_name)


@require_POST
def run_solution(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Run it in the chosen phase, and lead to the submission that this makes."""
    competition = managed_competition(request, slug)
    solution = _solution(competition, pk)
    phase = cleaned(SolutionForm(competition, request.POST))["phase"]
    submission = solution_run(solution=solution, phase=phase, by=person(request), now=timezone.now())
    messages.success(
        request, f"“{solution.name}” runs as submission #{submission.pk}, on no board and seen by organizers alone."
    )
    return redirect("web:submission", submission.pk)

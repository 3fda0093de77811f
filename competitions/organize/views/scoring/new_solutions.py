"""A new solution of a task in the workspace: upload, comparison, and the proposal that it begins."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.views import person
from competitions.catalog.models import Competition, Task
from competitions.organize import solutions
from competitions.organize.editing.data import competition_tasks
from competitions.organize.forms import ConfirmedForm
from competitions.organize.models import NewSolution
from competitions.organize.views.access import answer_upload
from competitions.organize.views.workspace import managed_competition
from competitions.resources.models import Upload
from competitions.resources.rooms import takes_uploads
from competitions.web.forms import cleaned

State = NewSolution.State


@takes_uploads(lambda request, slug, pk: managed_competition(request, slug))
@require_http_methods(["GET", "HEAD", "POST"])
def solution(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show the task's new solution; take one, propose it once it was looked at, or leave it."""
    competition = managed_competition(request, slug)
    task = _task(competition, pk)
    if request.method != "POST":
        return render(request, "organize/editing/solution.html", _context(competition, task))
    if "confirmed" in request.POST:
        confirmed = cleaned(ConfirmedForm(request.POST))["confirmed"]
        by, now = person(request), timezone.now()
        proposal = solutions.solution_use(competition=competition, task=task, by=by, confirmed=confirmed, now=now)
        if proposal is not None:
            return redirect("organize:proposal", slug, proposal.number)
        messages.success(request, "The new solution is in force.")
        return redirect("organize:data", slug)
    if "leave" in request.POST:
        solutions.solution_leave(task=task, now=timezone.now())
        return redirect("organize:data", competition.slug)

    def take(upload: Upload) -> str:
        solutions.solution_upload(task=task, upload=upload, by=person(request), now=timezone.now())
        return request.path

    return answer_upload(request, take)


@require_safe
def solution_status(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The progress of the new solution, served alone; the page loads itself again once it is over."""
    competition = managed_competition(request, slug)
    context = _context(competition, _task(competition, pk))
    response = render(request, "organize/editing/_solution.html", context)
    if not context["is_in_work"]:
        response.headers["HX-Refresh"] = "true"
    return response


def _task(competition: Competition, pk: int) -> Task:
    """A task of the competition that scores tables; 404 for any other."""
    tasks = competition_tasks(competition).select_related("competition", "reference_data").prefetch_related("phases")
    task: Task = get_object_or_404(tasks, pk=pk)
    if not solutions.solution_slot(task).holds_solution:
        raise Http404
    return task


def _context(competition: Competition, task: Task) -> dict[str, object]:
    rows = NewSolution.objects.filter(task=task).select_related("task__competition", "task__reference_data", "file")
    chosen = rows.first()
    is_ready = chosen is not None and chosen.state == State.READY
    return {
        "competition": competition,
        "tab": "data",
        "task": task,
        "solution": chosen,
        "is_in_work": chosen is not None and chosen.state == State.READING,
        "takes_file": chosen is None or chosen.state != State.READING,
        "sentences": solutions.solution_consequences(chosen) if chosen is not None else [],
        "confirmation": solutions.solution_confirmation(chosen) if chosen is not None and is_ready else "",
    }

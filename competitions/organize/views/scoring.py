"""Pages of the workspace for what changes scores: proposals, and a new solution of a task."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person, posted
from competitions.catalog.models import Competition, Proposal, ProposedFile, Task
from competitions.disclosure.readers import reader_for
from competitions.leaderboards.rescoring import services as rescoring
from competitions.leaderboards.rescoring.costs import rescoring_costs
from competitions.organize import solutions
from competitions.organize.editing import proposals as editing
from competitions.organize.editing.data import Slot, competition_tasks, upload_check
from competitions.organize.forms import ConfirmedForm
from competitions.organize.models import NewSolution
from competitions.organize.views.access import answer_upload
from competitions.organize.views.editing.changes import render_page
from competitions.organize.views.workspace import managed_competition
from competitions.resources.models import Upload
from competitions.resources.rooms import takes_uploads
from competitions.web.forms import cleaned
from competitions.web.presentation.proposals import shown_standings

TAB = "proposals"


@require_http_methods(["GET", "HEAD", "POST"])
def proposals(request: HttpRequest, slug: str) -> HttpResponse:
    """List the competition's proposals, and begin one."""
    competition = managed_competition(request, slug)
    form = editing.ProposalForm(posted(request))
    if request.method == "POST" and form.is_valid():
        begun = rescoring.proposal_begin(
            competition=competition, by=person(request), now=timezone.now(), **form.cleaned_data
        )
        return redirect("organize:proposal", slug, begun.number)
    context = {"form": form, "proposals": competition.proposals.select_related("created_by")}
    status = 422 if form.errors else 200
    return render_page(request, competition, "organize/proposals/proposals.html", context, tab=TAB, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def proposal(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show a proposal with what it does; act on it."""
    competition = managed_competition(request, slug)
    chosen = _proposal(competition, number)
    forms: dict[str, BaseForm] = {
        "settings_form": editing.ProposalSettingsForm(competition, person(request), instance=chosen),
        "comment_form": editing.CommentForm(),
    }
    if request.method == "POST":
        forms |= _act(request, competition, chosen)
        if not any(form.errors for form in forms.values()):
            return redirect("organize:proposal", slug, number)
    context = _context(request, competition, _proposal(competition, number)) | forms
    status = 422 if request.method == "POST" else 200
    return render_page(request, competition, "organize/proposals/proposal.html", context, tab=TAB, status=status)


@takes_uploads(lambda request, slug, **place: managed_competition(request, slug))
@require_POST
def proposal_file(request: HttpRequest, slug: str, number: int, pk: int, name: str) -> HttpResponse:
    """Take a file for a task's place; it scores the proposal's runs alone."""
    competition = managed_competition(request, slug)
    chosen = _proposal(competition, number)
    if name not in ProposedFile.SLOTS:
        raise Http404
    task = get_object_or_404(Task.objects.filter(competition=competition, dataset=None, checks=None), pk=pk)

    def take(upload: Upload) -> str:
        by = person(request)
        file = upload_check(Slot(task, name), upload, by)
        rescoring.proposal_put_file(proposal=chosen, task=task, slot=name, file=file, file_name=upload.file_name, by=by)
        return request.path.split("/files/")[0] + "/"

    return answer_upload(request, take)


@require_safe
def proposal_status(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The progress of a proposal, served alone; the page loads itself again once it is over."""
    competition = managed_competition(request, slug)
    chosen = _proposal(competition, number)
    context = {
        "competition": competition,
        "proposal": chosen,
        "progress": editing.progress(chosen),
        "is_at_work": editing.is_at_work(chosen),
    }
    response = render(request, "organize/proposals/_progress.html", context)
    if not context["is_at_work"]:
        response.headers["HX-Refresh"] = "true"
    return response


def _proposal(competition: Competition, number: int) -> Proposal:
    rows = Proposal.objects.select_related("competition__queue", "queue", "board__phase", "created_by", "ended_by")
    return get_object_or_404(rows, competition=competition, number=number)


def _context(request: HttpRequest, competition: Competition, chosen: Proposal) -> dict[str, Any]:
    now, is_draft = timezone.now(), chosen.state == Proposal.State.DRAFT
    reader = reader_for(person(request), now)
    is_compared = chosen.compared_count is not None
    return {
        "proposal": chosen,
        "is_draft": is_draft,
        "is_at_work": editing.is_at_work(chosen),
        "slots": editing.proposed_slots(competition, chosen) if is_draft else [],
        "files": chosen.files.select_related("task", "resource__file"),
        "costs": rescoring_costs(chosen, now=now) if is_draft else None,
        "kept_datasets": rescoring.count_kept_datasets(chosen),
        "progress": None if is_draft else editing.progress(chosen),
        "standings": shown_standings(chosen, reader, would=chosen.is_open) if is_compared else [],
        "confirmation": rescoring.comparison_digest(chosen),
        "comments": chosen.comments.select_related("by"),
    }


def _act(request: HttpRequest, competition: Competition, chosen: Proposal) -> Mapping[str, BaseForm]:
    """Do what was asked; returns forms that are shown again with what is wrong."""
    values, by, now = cleaned(editing.ActionForm(request.POST)), person(request), timezone.now()
    if values["action"] == "settings":
        return {"settings_form": _set(request, competition, chosen)}
    if values["action"] == "comment":
        form = editing.CommentForm(request.POST)
        if form.is_valid():
            rescoring.proposal_comment(proposal=chosen, text=form.cleaned_data["text"], by=by, now=now)
        return {"comment_form": form}
    if values["action"] == "start":
        return _start(request, chosen)
    acts: dict[str, tuple[Callable[[], None], str]] = {
        "remove-file": (
            lambda: rescoring.proposal_remove_file(proposal=chosen, pk=values["file"] or 0),
            "The file is not part of the proposal any more.",
        ),
        "drop": (
            lambda: rescoring.proposal_drop(proposal=chosen, by=by, now=now),
            "The proposal is dropped. No score has changed.",
        ),
        "retry": (lambda: rescoring.proposal_retry(proposal=chosen, now=now), "What was not scored is tried again."),
        "apply": (
            lambda: rescoring.proposal_apply(proposal=chosen, by=by, confirmed=values["confirmed"], now=now),
            "The proposal is being applied. Teams are told when it is.",
        ),
    }
    act, done = acts[values["action"]]
    act()
    messages.success(request, done)
    return {}


def _set(request: HttpRequest, competition: Competition, chosen: Proposal) -> editing.ProposalSettingsForm:
    form = editing.ProposalSettingsForm(competition, person(request), request.POST, instance=chosen)
    if form.is_valid():
        try:
            rescoring.proposal_set(proposal=chosen, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, "The proposal was saved.")
    return form


def _start(request: HttpRequest, chosen: Proposal) -> Mapping[str, BaseForm]:
    try:
        rescoring.proposal_start(proposal=chosen, now=timezone.now())
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return {}
    messages.success(request, "Submissions are being scored by the proposal. The leaderboard stays as it is.")
    return {}


State = NewSolution.State


@takes_uploads(lambda request, slug, pk: managed_competition(request, slug))
@require_http_methods(["GET", "HEAD", "POST"])
def solution(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show the task's new solution; take one, propose it once it was looked at, or leave it."""
    competition = managed_competition(request, slug)
    task = _task(competition, pk)
    if request.method != "POST":
        return render(request, "organize/editing/solution.html", _solution_context(competition, task))
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
    context = _solution_context(competition, _task(competition, pk))
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


def _solution_context(competition: Competition, task: Task) -> dict[str, object]:
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

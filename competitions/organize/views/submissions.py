"""Submissions in the organizer's workspace."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.catalog.models import Competition, Phase
from competitions.disclosure.readers import reader_for
from competitions.leaderboards.growing.missing_runs import cells_rerun
from competitions.leaderboards.reading.export import submissions_csv
from competitions.leaderboards.reading.slices import have_slices, slices_csv
from competitions.organize.forms import SubmissionsForm, list_page, ticked
from competitions.organize.views.editing.changes import render_page
from competitions.organize.views.workspace import managed_competition
from competitions.organize.workspace.submissions import (
    ACTIONS,
    ASKS_FIRST,
    FilterForm,
    act_on,
    queues_for,
    submission_rows,
)
from competitions.runs.services import bulk_cost, submission_start, unstarted_submissions, waiting_start
from competitions.submissions.models import Dataset, Submission
from competitions.web.forms import cleaned
from files.text import quantity


@require_http_methods(["GET", "HEAD", "POST"])
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the submissions that the address asks for, or act on those that are ticked."""
    competition = managed_competition(request, slug)
    if request.method == "POST":
        return _act(request, competition)
    form = FilterForm(competition, request.GET)
    rows = form.narrowed().select_related("team", "phase__competition", "submitted_by")
    shown, following = list_page(request, rows)
    unstarted = unstarted_submissions(competition).count()
    context = {
        "form": form,
        "rows": submission_rows(shown, reader_for(person(request), timezone.now())),
        "actions": [(name, words) for name, (words, _) in ACTIONS.items() if unstarted or name != "start"],
        "following": following,
        "unstarted": unstarted,
        "has_slices": have_slices(shown),
    }
    return render_page(request, competition, "organize/workspace/submissions.html", context, tab="submissions")


@require_safe
def submissions_file(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The submissions that the address asks for, all of them, as a file."""
    submissions, phases = _asked_for(request, slug)
    reader = reader_for(person(request), timezone.now())
    return submissions_csv(submissions, phases, reader, name=f"{slug}-submissions")


@require_safe
def slices_file(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The scores by slice of the same submissions."""
    submissions, phases = _asked_for(request, slug)
    return slices_csv(submissions, phases, reader_for(person(request), timezone.now()), name=f"{slug}-slices")


def _asked_for(request: HttpRequest, slug: str) -> tuple[QuerySet[Submission], list[Phase]]:
    """The submissions that the list's filters leave, on all pages, and the competition's phases."""
    competition = managed_competition(request, slug)
    filters = request.GET.copy()
    filters.pop("before", None)  # a page of the list, and this is all of it
    return FilterForm(competition, filters).narrowed(), list(competition.phases.select_related("competition"))


def _actor(request: HttpRequest) -> str:
    """The organizer as the history of runs names them."""
    return f"organizer:{person(request).get_username()}"


def _act(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Do what was chosen; what costs compute, stops or moves runs is shown with its cost first."""
    queues = queues_for(person(request), competition)
    values = cleaned(SubmissionsForm(request.POST, actions=ACTIONS, queues=queues))
    sent = Submission.objects.filter(phase__competition=competition)
    action, chosen = values["action"], ticked(sent, values["chosen"], "submission")
    words, done_words = ACTIONS[action]
    if action in ASKS_FIRST and not values["confirmed"]:
        context = {"action": action, "words": words, "cost": bulk_cost(chosen), "chosen": chosen, "queues": queues}
        return render_page(request, competition, "organize/workspace/confirm.html", context, tab="submissions")
    done, refused = act_on(
        chosen, action, reason=values["reason"], queue=values["queue"], by=person(request), now=timezone.now()
    )
    for sentence in refused:
        messages.warning(request, sentence)
    messages.success(request, f"{done} of {len(chosen)} {done_words}.")
    return redirect("organize:submissions", competition.slug)


@require_POST
def start(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Start one submission that waits for the organizers."""
    sent = Submission.objects.filter(phase__competition=managed_competition(request, slug))
    submission = get_object_or_404(sent.select_related("phase__competition"), pk=pk)
    submission_start(submission=submission, by=person(request), now=timezone.now())
    messages.success(request, f"Submission #{pk} was started.")
    return redirect("organize:submissions", slug)


@require_POST
def start_waiting(request: HttpRequest, slug: str) -> HttpResponse:
    """Start what waits for the organizers, the oldest first."""
    competition = managed_competition(request, slug)
    started, waiting = waiting_start(competition=competition, actor=_actor(request), now=timezone.now())
    more = f" {waiting} still wait{'s' if waiting == 1 else ''}: press again." if waiting else ""
    messages.success(request, f"{quantity(started, 'submission')} started.{more}")
    return redirect("organize:submissions", competition.slug)


@require_POST
def dataset_rerun(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Run again what failed on a submitted dataset, and nothing else of those submissions."""
    sent = Submission.objects.filter(phase__competition=managed_competition(request, slug))
    dataset = get_object_or_404(Dataset, submission=get_object_or_404(sent, pk=pk))
    count = cells_rerun(dataset=dataset, actor=_actor(request), now=timezone.now())
    messages.success(request, f"{quantity(count, 'failed run')} queued again.")
    return redirect("web:submission", pk)

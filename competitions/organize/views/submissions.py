"""Submissions in the organizer's workspace."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from accounts.views import person
from competitions.catalog.models import Competition
from competitions.disclosure.readers import reader_for
from competitions.leaderboards.growing.missing_runs import cells_rerun
from competitions.organize.forms import SubmissionsForm
from competitions.organize.views.changes import render_page
from competitions.organize.views.teams import list_page
from competitions.organize.views.workspace import managed_competition
from competitions.organize.workspace.submissions import (
    ACTIONS,
    ASKS_FIRST,
    PAGE_SIZE,
    FilterForm,
    act_on,
    chosen_submissions,
    queues_for,
    submission_rows,
)
from competitions.runs.bulk import bulk_cost
from competitions.submissions.models import Dataset, Submission
from competitions.web.forms import cleaned


@require_http_methods(["GET", "HEAD", "POST"])
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the submissions that the address asks for, or act on those that are ticked."""
    competition = managed_competition(request, slug)
    if request.method == "POST":
        return _act(request, competition)
    form = FilterForm(competition, request.GET)
    rows = form.narrowed().select_related("team", "phase__competition", "submitted_by")
    shown, following = list_page(request, rows, PAGE_SIZE)
    context = {
        "form": form,
        "rows": submission_rows(shown, reader_for(person(request), timezone.now())),
        "actions": [(name, words) for name, (words, _) in ACTIONS.items()],
        "following": following,
    }
    return render_page(request, competition, "organize/workspace/submissions.html", context, tab="submissions")


def _act(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Do what was chosen; what costs compute, stops or moves runs is shown with its cost first."""
    queues = queues_for(person(request), competition)
    values = cleaned(SubmissionsForm(request.POST, actions=ACTIONS, queues=queues))
    action, chosen = values["action"], chosen_submissions(competition, values["chosen"])
    words, done_words = ACTIONS[action]
    if action in ASKS_FIRST and not values["confirmed"]:
        context = {
            "action": action,
            "words": words,
            "cost": bulk_cost(chosen),
            "chosen": chosen,
            "queues": queues,
        }
        return render_page(request, competition, "organize/workspace/confirm.html", context, tab="submissions")
    done, refused = act_on(
        chosen,
        action,
        reason=values["reason"],
        queue=values["queue"],
        actor=f"organizer:{person(request).get_username()}",
        now=timezone.now(),
    )
    for sentence in refused:
        messages.warning(request, sentence)
    messages.success(request, f"{done} of {len(chosen)} {done_words}.")
    return redirect("organize:submissions", competition.slug)


@require_POST
def dataset_rerun(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Run again what failed on a submitted dataset, and nothing else of those submissions."""
    sent = Submission.objects.filter(phase__competition=managed_competition(request, slug))
    dataset = get_object_or_404(Dataset, submission=get_object_or_404(sent, pk=pk))
    actor = f"organizer:{person(request).get_username()}"
    count = cells_rerun(dataset=dataset, actor=actor, now=timezone.now())
    messages.success(request, f"{count} failed run{'' if count == 1 else 's'} queued again.")
    return redirect("web:submission", pk)

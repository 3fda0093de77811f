"""The organizer's workspace."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from competitions.catalog.models import Competition
from competitions.disclosure.readers import reader_of
from competitions.organize.forms import BulkForm
from competitions.organize.workspace.overview import overview_of
from competitions.organize.workspace.submissions import (
    ACTIONS,
    ASKS_FIRST,
    PAGE_SIZE,
    FilterForm,
    act_on,
    chosen_of,
    rows_of,
)
from competitions.runs.bulk import cost_of
from competitions.web.forms import cleaned
from competitions.web.views.teams import person


def competition_of(request: HttpRequest, slug: str) -> Competition:
    """A competition that the asker organizes; any other does not exist."""
    return get_object_or_404(Competition.objects.managed_by(person(request)).select_related("queue"), slug=slug)


@require_safe
@login_required
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """The overview: what needs attention, numbers, and charts of the last weeks."""
    competition = competition_of(request, slug)
    context = overview_of(competition, reader_of(person(request), timezone.now()))
    return render(
        request, "organize/workspace/overview.html", {"competition": competition, "tab": "overview"} | context
    )


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """The competition's submissions, narrowed by the address; those that are ticked are run again, cancelled or disqualified."""
    competition = competition_of(request, slug)
    if request.method == "POST":
        return _act(request, competition)
    form = FilterForm(competition, request.GET)
    submissions = list(form.narrowed().select_related("team", "phase__competition", "submitted_by")[: PAGE_SIZE + 1])
    asked = request.GET.copy()
    asked.pop("before", None)
    if len(submissions) > PAGE_SIZE:
        asked["before"] = str(submissions[PAGE_SIZE - 1].pk)
    context = {
        "competition": competition,
        "tab": "submissions",
        "form": form,
        "rows": rows_of(submissions[:PAGE_SIZE], reader_of(person(request), timezone.now())),
        "actions": [(name, words) for name, (words, _) in ACTIONS.items()],
        "following": asked.urlencode() if len(submissions) > PAGE_SIZE else "",
    }
    return render(request, "organize/workspace/submissions.html", context)


def _act(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Do what was chosen; what costs compute or stops runs is shown with its cost first."""
    values = cleaned(BulkForm(request.POST, actions=ACTIONS))
    action, chosen = values["action"], chosen_of(competition, values["chosen"])
    words, done_words = ACTIONS[action]
    if action in ASKS_FIRST and not values["confirmed"]:
        context = {
            "competition": competition,
            "tab": "submissions",
            "action": action,
            "words": words,
            "cost": cost_of(chosen),
            "chosen": chosen,
        }
        return render(request, "organize/workspace/confirm.html", context)
    actor = f"organizer:{person(request).get_username()}"
    done, refused = act_on(chosen, action, reason=values["reason"], actor=actor, now=timezone.now())
    for sentence in refused:
        messages.warning(request, sentence)
    messages.success(request, f"{done} of {len(chosen)} {done_words}.")
    return redirect("organize:submissions", competition.slug)

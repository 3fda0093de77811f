"""Two of a team's submissions to one phase, side by side."""

from typing import Final

from django.db.models import Prefetch
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.views import person
from competitions.disclosure.readers import Reader
from competitions.leaderboards.reading.submission_scores import load_boards, with_scores
from competitions.runs.models import Run
from competitions.submissions.access import visible_submissions
from competitions.submissions.models import Submission
from competitions.web.presentation.compared import compared_facts, compared_runs, compared_scores
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit
from files.text import is_number

LISTED: Final = 50  # others to choose from


@require_safe
def compare(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A submission beside another of its team and phase: the one asked for, else the one before it."""
    visited = visit(request, slug)
    runs = Prefetch("runs", queryset=Run.objects.select_related("task"))
    visible = visible_submissions(person(request)).filter(phase__competition=visited.competition)
    full = visible.select_related("phase__competition", "team", "submitted_by", "file").prefetch_related(runs)
    second = full.filter(pk=pk).first()
    if second is None:
        raise Http404
    others = visible.filter(team=second.team_id, phase=second.phase_id).exclude(pk=pk).order_by("-pk")
    number = request.GET.get("with", "")
    chosen = full.filter(pk__in=others.values("pk"))
    first = (
        chosen.filter(pk=int(number)).first() if is_number(number) else chosen.filter(pk__lt=pk).order_by("-pk").first()
    )
    if number and first is None:
        raise Http404
    context: dict[str, object] = {
        "submission": second,
        "other": first,
        "others": others.only("pk", "file_name", "description")[:LISTED],
    }
    if first is not None:
        context |= _compared(first, second, visited.reader)
    return render_tab(request, visited, "web/submissions/compare.html", context, tab="submissions")


def _compared(first: Submission, second: Submission, reader: Reader) -> dict[str, object]:
    load_boards([first.phase, second.phase])
    scored = with_scores([first, second])
    return {
        "facts": compared_facts(first, second),
        "scores": compared_scores(scored[0], scored[1], reader),
        "runs": compared_runs(first, second, reader),
    }

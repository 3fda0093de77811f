"""Solutions in the workspace: read by organizers alone, and run as a submission of theirs."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.views import person
from competitions.catalog.models import Competition, Solution
from competitions.organize.forms import SolutionForm
from competitions.organize.views.workspace import managed_competition
from competitions.resources.downloads import stored_response
from competitions.runs.solutions import solution_run
from competitions.web.forms import cleaned


def _solution(competition: Competition, pk: int) -> Solution:
    return get_object_or_404(competition.solutions.select_related("resource__file"), pk=pk)


@require_safe
def download(request: HttpRequest, slug: str, pk: int) -> HttpResponseBase:
    resource = _solution(managed_competition(request, slug), pk).resource
    return stored_response(request, resource.file, file_name=resource.file_name)


@require_POST
def run(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Run it in the chosen phase, and lead to the submission that this makes."""
    competition = managed_competition(request, slug)
    solution = _solution(competition, pk)
    phase = cleaned(SolutionForm(competition, request.POST))["phase"]
    submission = solution_run(solution=solution, phase=phase, by=person(request), now=timezone.now())
    messages.success(
        request, f"“{solution.name}” runs as submission #{submission.pk}, on no board and seen by organizers alone."
    )
    return redirect("web:submission", submission.pk)

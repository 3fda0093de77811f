"""The trial, the review and the publication."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from competitions.catalog.readiness import competition_warnings
from competitions.organize.building.jobs import build_request, draft_publish
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.paths import first_open
from competitions.organize.views.access import own_draft
from competitions.organize.views.guided.rail import step_rail
from competitions.organize.views.guided.trial_result import trial_result
from competitions.web.checklist import checklist


def _context(draft: CompetitionDraft) -> dict[str, object]:
    return {"draft": draft, "open_step": first_open(draft), "result": trial_result(draft)}


@require_safe
def trial(request: HttpRequest, key: UUID) -> HttpResponse:
    draft = own_draft(request, key)
    return render(request, "organize/guided/trial.html", _context(draft) | {"rail": step_rail(draft, "trial")})


@require_safe
def status(request: HttpRequest, key: UUID) -> HttpResponse:
    """The progress of build and trial, served alone; it asks again until both are over."""
    return render(request, "organize/guided/_build.html", _context(own_draft(request, key)))


@require_POST
def build(request: HttpRequest, key: UUID) -> HttpResponse:
    """Have the competition made of the answers, in the background."""
    draft = own_draft(request, key)
    build_request(draft=draft, now=timezone.now())
    return redirect("organize:trial", draft.key)


@require_safe
def review(request: HttpRequest, key: UUID) -> HttpResponse:
    draft = own_draft(request, key)
    warnings = competition_warnings(draft.competition) if draft.competition else []
    steps = checklist(draft.competition, warnings) if draft.competition else []
    context = {"steps": [step for step in steps if step.title != "Published"], "rail": step_rail(draft, "review")}
    return render(request, "organize/guided/review.html", _context(draft) | context)


@require_POST
def publish(request: HttpRequest, key: UUID) -> HttpResponse:
    """Show the competition to everybody."""
    competition = draft_publish(draft=own_draft(request, key))
    messages.success(request, f"“{competition}” is published. Everybody sees it now.")
    return redirect("web:overview", competition.slug)

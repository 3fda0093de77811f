"""The page How this competition is run, and its LaTeX for a proposal or a report."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from competitions.web.markdown import has_markdown
from competitions.web.presentation.conduct import Statement, as_latex, conduct
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit


def _statements(visited: Visit) -> list[Statement]:
    return conduct(visited.competition, visited.phases_with_boards, visited.reader)


@login_not_required
@require_safe
@has_markdown
def conduct_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer the questions of a reviewer from the settings."""
    visited = visit(request, slug)
    context = {"statements": _statements(visited)}
    return render_tab(request, visited, "web/competition/conduct.html", context, tab="rules")


@login_not_required
@require_safe
def conduct_file(request: HttpRequest, slug: str) -> HttpResponse:
    """The same as a section of LaTeX."""
    visited = visit(request, slug)
    text = as_latex(visited.competition, _statements(visited), settings.SITE_URL + visited.url("conduct"))
    headers = {"Content-Disposition": f'attachment; filename="{slug}-how-it-is-run.tex"'}
    return HttpResponse(text, content_type="application/x-tex; charset=utf-8", headers=headers)

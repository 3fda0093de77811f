"""Questions in the workspace: of the registration and of the fact sheet."""

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods, require_safe

from competitions.catalog.models import Competition
from competitions.organize.editing import questions as editing
from competitions.organize.views.editing.changes import change_page, delete_page, render_page
from competitions.organize.views.workspace import managed_competition

FORMS: Final[Mapping[str, type[editing.QuestionForm]]] = {
    "registration": editing.RegistrationQuestionForm,
    "fact-sheet": editing.FactQuestionForm,
}


def _rows(competition: Competition, kind: str) -> QuerySet[Any]:
    """The competition's questions of a kind, as the address names it."""
    if kind == "registration":
        return competition.registration_questions.all()
    if kind == "fact-sheet":
        return competition.questions.select_related("phase")
    raise Http404


@require_safe
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """Every question, in the order in which they are asked."""
    competition = managed_competition(request, slug)
    context = {"registration": _rows(competition, "registration"), "fact_sheet": _rows(competition, "fact-sheet")}
    return render_page(request, competition, "organize/editing/questions.html", context, tab="questions")


@require_http_methods(["GET", "HEAD", "POST"])
def question(request: HttpRequest, slug: str, kind: str, pk: int | None = None) -> HttpResponse:
    """Change a question, or add one."""
    competition = managed_competition(request, slug)
    rows = _rows(competition, kind)
    before = None if pk is None else get_object_or_404(rows, pk=pk)

    def make(data: QueryDict | None) -> editing.QuestionForm:
        if data:  # questions are numbered one after the other
            Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        return FORMS[kind](
            competition, data, instance=None if before is None else get_object_or_404(rows, pk=before.pk)
        )

    return change_page(request, make, tab="questions", title=f"Question “{before.title}”" if before else "New question")


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, slug: str, kind: str, pk: int) -> HttpResponse:
    """Say what goes with a question, then delete it."""
    competition = managed_competition(request, slug)
    chosen = get_object_or_404(_rows(competition, kind), pk=pk)
    remove = editing.remove_question
    return delete_page(request, competition, chosen, editing.question_deletion, tab="questions", delete=remove)

"""Questions of fact sheets, for organizers."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from competitions.catalog.organizer_admin import OrganizerAdmin
from competitions.factsheets.models import Question
from competitions.factsheets.services import delete_question, save_question


@admin.register(Question)
class QuestionAdmin(OrganizerAdmin):
    """A question. Answers that were given stay; boards show them as soon as the question is on the leaderboard."""

    list_display = ["title", "key", "competition", "phase", "kind", "is_required", "is_public", "is_on_board"]
    list_filter = ["kind", "is_public", "is_on_board"]
    list_select_related = ["competition", "phase__competition"]
    fields = [
        "competition",
        "phase",
        "key",
        "title",
        "help_text",
        "kind",
        "choices",
        "is_required",
        "is_public",
        "is_on_board",
        "compared_with",
        "index",
    ]

    def save_model(self, request: HttpRequest, obj: Question, form: Any, change: bool) -> None:
        save_question(obj)

    def delete_model(self, request: HttpRequest, obj: Question) -> None:
        delete_question(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Question]) -> None:
        for question in queryset.select_related("competition"):
            delete_question(question)

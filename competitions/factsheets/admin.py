"""Questions of fact sheets, for administrators to look at."""

from django.contrib import admin

from competitions.factsheets.models import Question
from core.guarded_admin import ReadOnlyAdmin


@admin.register(Question)
class QuestionAdmin(ReadOnlyAdmin):
    list_display = ["title", "key", "competition", "phase", "kind", "is_required", "is_public", "is_on_board"]
    list_filter = ["kind", "is_public", "is_on_board"]
    list_select_related = ["competition", "phase__competition"]

"""Boards and their columns, for organizers."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions
from competitions.leaderboards.models import Column, Leaderboard
from competitions.leaderboards.services import board_rebuild


class ColumnInline(OwnCompetitions, admin.TabularInline[Column, Leaderboard]):
    model = Column
    competition_path = "leaderboard__phase__competition"
    extra = 0


@admin.register(Leaderboard)
class LeaderboardAdmin(OrganizerAdmin):
    """A board: which submission counts, and its columns. Saving it, new or changed, ranks everything again."""

    competition_path = "phase__competition"
    list_display = ["title", "phase", "rule", "visibility", "is_hidden", "freeze_at", "entry_count"]
    list_select_related = ["phase__competition"]
    fieldsets = [
        (None, {"fields": ["phase", "title", "key", "index"]}),
        ("What counts", {"fields": ["rule", "max_selected", "selection_closes_at"]}),
        ("Who sees what", {"fields": ["visibility", "is_hidden", "freeze_at"]}),
        ("Display", {"fields": ["is_transposed", "shows_tasks"]}),
    ]
    inlines = [ColumnInline]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if not change or form.has_changed() or any(formset.has_changed() for formset in formsets):
            board_rebuild(form.instance)
            self.message_user(request, "The leaderboard was ranked again.")

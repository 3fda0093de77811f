"""Boards and submitted datasets, for administrators to look at."""

from django.contrib import admin

from competitions.catalog.models import Column, Leaderboard
from competitions.submissions.models import Dataset
from core.guarded_admin import History, ReadOnlyAdmin


class ColumnInline(History):
    model = Column
    fields = ("title", "kind", "key", "sorting", "precision", "is_primary", "is_hidden")


@admin.register(Leaderboard)
class LeaderboardAdmin(ReadOnlyAdmin):
    """A board: which submission counts, and its columns."""

    list_display = ["title", "phase", "rule", "visibility", "is_hidden", "freeze_at", "entry_count"]
    list_select_related = ["phase__competition"]
    inlines = [ColumnInline]


@admin.register(Dataset)
class DatasetAdmin(ReadOnlyAdmin):
    """A submitted dataset on a board that grows."""

    list_display = ["name", "submission", "team", "phase", "joined_at", "counts_from", "withdrawn_at"]
    list_select_related = ["submission__team", "submission__phase__competition"]
    search_fields = ["name", "submission__team__name"]

    @admin.display(description="Team")
    def team(self, dataset: Dataset) -> str:
        return dataset.submission.team.name

    @admin.display(description="Phase")
    def phase(self, dataset: Dataset) -> str:
        return dataset.submission.phase.name

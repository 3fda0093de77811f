"""Boards and their columns, for organizers."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions
from competitions.leaderboards import dataset_admin  # noqa: F401  # registers its page
from competitions.leaderboards.models import Column, Leaderboard
from competitions.leaderboards.services import board_freeze, board_rebuild


class LeaderboardForm(forms.ModelForm[Leaderboard]):
    """A board that is sealed stays sealed, whoever edits it: only the reveal opens it."""

    class Meta:
        model = Leaderboard
        fields = "__all__"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.instance.pk:
            return cleaned
        stored = Leaderboard.objects.select_related("phase").get(pk=self.instance.pk)
        if not stored.scores.exists():
            return cleaned
        if stored.is_sealed and cleaned.get("visibility") != stored.visibility:
            self.add_error(
                "visibility", "This board has sealed scores. To show them, use the action Reveal in the list of phases."
            )
        if cleaned.get("phase") != stored.phase:
            self.add_error("phase", f"This board has scores of “{stored.phase}”, so it stays there.")
        return cleaned


class ColumnFormSet(forms.BaseInlineFormSet[Column, Leaderboard, forms.ModelForm[Column]]):
    """Refuses a score that another board keeps sealed: shown here, it would be public."""

    def clean(self) -> None:
        super().clean()
        board = self.instance
        if not board.phase_id or board.is_sealed:
            return
        others = Leaderboard.objects.filter(phase=board.phase_id).exclude(pk=board.pk).select_related("phase")
        kept = {
            column.key: one
            for one in others.prefetch_related("columns")
            if one.is_sealed
            for column in one.columns.all()
        }
        for form in self.forms:
            key = getattr(form, "cleaned_data", {}).get("key")
            if key in kept and form.cleaned_data.get("kind") == Column.Kind.SCORE:
                form.add_error(
                    "key", f"The score {key!r} is sealed on the board “{kept[key].title}”; here everybody would see it."
                )


class ColumnInline(OwnCompetitions, admin.StackedInline[Column, Leaderboard]):
    model = Column
    formset = ColumnFormSet
    competition_path = "leaderboard__phase__competition"
    extra = 0
    fields: ClassVar[Any] = [
        ("title", "unit", "index"), ("kind", "key"), ("sorting", "precision"), ("is_primary", "rank_by_shown", "is_hidden"),
        ("computation", "sources"), "spread_key",
    ]  # fmt: skip
    formfield_overrides: ClassVar[Any] = {models.JSONField: {"widget": forms.TextInput(attrs={"size": 40})}}


@admin.register(Leaderboard)
class LeaderboardAdmin(OrganizerAdmin):
    """A board: which submission counts, and its columns. Saving it, new or changed, ranks everything again."""

    form = LeaderboardForm
    competition_path = "phase__competition"
    actions = ["freeze", "thaw"]
    list_display = ["title", "phase", "rule", "visibility", "is_hidden", "freeze_at", "entry_count"]
    list_select_related = ["phase__competition"]
    fieldsets = [
        (None, {"fields": ["phase", "title", "key", "index"]}),
        ("What counts", {"fields": ["rule", "max_selected", "selection_closes_at"]}),
        ("Who sees what", {"fields": ["visibility", "is_hidden", "freeze_at"]}),
        ("Display", {"fields": ["is_transposed", "shows_tasks"]}),
    ]
    inlines = [ColumnInline]

    @admin.action(description="Freeze now: what is received from now on stays off", permissions=["change"])
    def freeze(self, request: HttpRequest, queryset: QuerySet[Leaderboard]) -> None:
        for board in queryset:
            board_freeze(board=board, at=timezone.now())
        self.message_user(request, f"{queryset.count()} frozen.")

    @admin.action(description="Thaw: show everything again", permissions=["change"])
    def thaw(self, request: HttpRequest, queryset: QuerySet[Leaderboard]) -> None:
        for board in queryset:
            board_freeze(board=board, at=None)
        self.message_user(request, f"{queryset.count()} thawed.")

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if not change or form.has_changed() or any(formset.has_changed() for formset in formsets):
            board_rebuild(form.instance)
            self.message_user(request, "The leaderboard was ranked again.")

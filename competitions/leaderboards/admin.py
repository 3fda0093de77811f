"""Boards and their columns, for organizers."""

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions
from competitions.disclosure.readers import Reader, reader_of
from competitions.leaderboards.forms import ColumnForm, ColumnFormSet, visibility_fault
from competitions.leaderboards.growing import admin as growing_admin  # noqa: F401  # registers its page
from competitions.leaderboards.reading.results import results_of
from competitions.leaderboards.reading.submission_scores import BoardScore, ScoredSubmission
from competitions.leaderboards.services import board_freeze, board_rebuild
from competitions.runs.admin import SubmissionAdmin
from competitions.submissions.models import Submission


class LeaderboardForm(forms.ModelForm[Leaderboard]):
    """A board that is sealed stays sealed, whoever edits it: only the reveal opens it."""

    class Meta:
        model = Leaderboard
        fields = "__all__"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.instance.pk:
            if phase := cleaned.get("phase"):
                self._check_visibility(Leaderboard(phase=phase))
            return cleaned
        stored = Leaderboard.objects.select_related("phase__competition__queue").get(pk=self.instance.pk)
        self._check_visibility(stored)
        has_scores = stored.scores.exists() or stored.sealed_keys.exists()
        if has_scores and cleaned.get("phase") != stored.phase:
            self.add_error("phase", f"This board has scores of “{stored.phase}”, so it stays there.")
        return cleaned

    def _check_visibility(self, board: Leaderboard) -> None:
        if fault := visibility_fault(board, self.cleaned_data.get("visibility")):
            self.add_error("visibility", fault)


class ColumnInline(OwnCompetitions, admin.StackedInline[Column, Leaderboard]):
    model = Column
    form = ColumnForm
    formset = ColumnFormSet
    competition_path = "leaderboard__phase__competition"
    extra = 0
    fields: ClassVar[Any] = [
        ("title", "unit", "index"), ("kind", "key"), ("sorting", "precision"), ("is_primary", "rank_by_shown", "is_hidden"),
        ("computation", "sources"), "spread_key",
    ]  # fmt: skip


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
        ("What counts", {"fields": ["rule", "max_selected", "selection_closes_at", "breaks_ties"]}),
        ("Who sees what", {"fields": ["visibility", "is_hidden", "gives_exact_scores", "freeze_at"]}),
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

    def save_model(self, request: HttpRequest, obj: Leaderboard, form: Any, change: bool) -> None:
        Phase.objects.select_for_update(no_key=True).get(
            pk=obj.phase_id
        )  # ranking again may need it, and it comes first
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if not change or form.has_changed() or any(formset.has_changed() for formset in formsets):
            board_rebuild(form.instance)
            self.message_user(request, "The leaderboard was ranked again.")


@admin.register(Submission)
class ScoredSubmissionAdmin(SubmissionAdmin):
    """The list of submissions with what decides their ranks, as far as the reader may see it."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        return (
            super()
            .get_queryset(request)
            .prefetch_related("scores", "phase__leaderboards__columns", "phase__sealed_keys")
        )

    def get_list_display(self, request: HttpRequest) -> list[str | Callable[[Any], str | bool]]:
        user = request.user
        assert isinstance(user, User), "the admin lets nobody else in"
        reader = reader_of(user)

        @admin.display(description="Score")
        def score(submission: Submission) -> str:
            return deciding_scores(submission, reader)

        before, after = self.list_display[:2], self.list_display[2:]
        return [*before, score, *after]


def deciding_scores(submission: Submission, reader: Reader) -> str:
    """A submission's value in the primary column of each board of its phase that the reader may see; the boards and scores were read."""
    scores = {score.leaderboard_id: BoardScore(score.values, None) for score in submission.scores.all()}
    boards = list(submission.phase.leaderboards.all())
    results = results_of(ScoredSubmission(submission, boards, scores, frozenset()), reader)
    shown = [f"{value} {column.unit}".strip() for column, value in results.values if column.is_primary]
    return ", ".join([*shown, *(["sealed"] if results.withholds_scores else [])])

"""Boards and their columns, for organizers."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import User
from competitions.catalog.models import Column, Leaderboard
from competitions.catalog.organizer_admin import History, OrganizerAdmin, ReadOnly
from competitions.disclosure.readers import Reader, reader_of
from competitions.leaderboards.growing import admin as growing_admin  # noqa: F401  # registers its page
from competitions.leaderboards.reading.results import results_of
from competitions.leaderboards.reading.submission_scores import BoardScore, ScoredSubmission
from competitions.runs.admin import SubmissionAdmin
from competitions.submissions.models import Submission


class ColumnInline(History, admin.TabularInline[Column, Leaderboard]):
    model = Column
    competition_path = "leaderboard__phase__competition"
    fields: ClassVar[Any] = ["title", "kind", "key", "sorting", "precision", "is_primary", "is_hidden"]


@admin.register(Leaderboard)
class LeaderboardAdmin(ReadOnly, OrganizerAdmin):
    """A board: which submission counts, and its columns. It is changed in the workspace, or by the API."""

    competition_path = "phase__competition"
    list_display = ["title", "phase", "rule", "visibility", "is_hidden", "freeze_at", "entry_count"]
    list_select_related = ["phase__competition"]
    inlines = [ColumnInline]


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

"""Submitted datasets in the admin: where each stands, and running again what failed on it."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from competitions.catalog.organizer_admin import OrganizerAdmin, ReadOnly
from competitions.leaderboards.growing.missing_runs import cells_rerun
from competitions.submissions.models import Dataset


@admin.register(Dataset)
class DatasetAdmin(ReadOnly, OrganizerAdmin):
    """Disqualify a dataset as what it is, a submission; its team may withdraw it."""

    competition_path = "submission__phase__competition"
    list_display = ["name", "submission", "team", "phase", "joined_at", "counts_from", "withdrawn_at"]
    list_select_related = ["submission__team", "submission__phase__competition"]
    search_fields = ["name", "submission__team__name"]
    actions = ["rerun_failed"]

    @admin.display(description="Team")
    def team(self, dataset: Dataset) -> str:
        return dataset.submission.team.name

    @admin.display(description="Phase")
    def phase(self, dataset: Dataset) -> str:
        return dataset.submission.phase.name

    @admin.action(description="Run again what failed on these datasets", permissions=["change"])
    def rerun_failed(self, request: HttpRequest, queryset: QuerySet[Dataset]) -> None:
        actor, now = f"admin:{request.user.get_username()}", timezone.now()
        count = sum(cells_rerun(dataset=dataset, actor=actor, now=now) for dataset in queryset)
        self.message_user(request, f"{count} failed runs were queued again; nothing else of their submissions is.")

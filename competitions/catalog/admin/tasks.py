"""Tasks, and the action that finds what ran with old versions of their programs and data."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from competitions.catalog.models import Task
from competitions.catalog.organizer_admin import OrganizerAdmin, ReadOnly


@admin.action(description="Run again what ran with old versions (count and cost first)", permissions=["change"])
def rerun_outdated(model_admin: OrganizerAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
    """To the page that shows which submissions of these tasks or phases ran with programs or data replaced since."""
    chosen = ",".join(str(pk) for pk in queryset.values_list("pk", flat=True))
    name = queryset.model._meta.model_name
    return redirect(f"{reverse('admin:submissions_submission_outdated')}?{name}={chosen}")


@admin.register(Task)
class TaskAdmin(ReadOnly, OrganizerAdmin):
    """A task: which programs and data a run uses. It is changed in the workspace of its competition, or by the API."""

    list_display = ["name", "competition", "scoring_program", "ingestion_program"]
    actions = [rerun_outdated]
    list_select_related = ["competition", "scoring_program", "ingestion_program"]

    def mine(self, request: HttpRequest) -> QuerySet[Any]:
        """Also own ones that came as a zip of a task and belong to no competition."""
        return super().mine(request) | Task.objects.filter(competition=None, owner_id=request.user.pk)

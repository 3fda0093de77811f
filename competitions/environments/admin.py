"""Weights and images of teams, for organizers: what there is, how large, and why it was refused. Nobody reads the files here."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from competitions.catalog.organizer_admin import OrganizerAdmin, ReadOnly
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import environment_file_remove
from core.refusals import Refusal


@admin.register(EnvironmentFile)
class EnvironmentFileAdmin(ReadOnly, OrganizerAdmin):
    """A team's weights or image; the action removes what no run needs."""

    competition_path = "team__competition"
    list_display = ["name", "version", "kind", "team", "state", "size_bytes", "created_at", "last_used_at"]
    list_filter = ["kind", "state"]
    list_select_related = ["team__competition"]
    search_fields = ["name", "team__name"]
    actions = ["remove"]

    @admin.action(description="Remove the files (their names and digests stay)", permissions=["view"])
    def remove(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        removed = 0
        for file in queryset:
            try:
                environment_file_remove(file=file, note=f"Removed by {request.user}.")
                removed += 1
            except Refusal as refusal:
                self.message_user(request, refusal.detail, messages.WARNING)
        self.message_user(request, f"{removed} of {queryset.count()} removed.")

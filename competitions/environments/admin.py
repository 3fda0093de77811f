"""Admin pages of teams' weights and images: sizes and refusals. Nobody reads the files here."""

from django.contrib import admin

from competitions.environments.models import EnvironmentFile
from core.guarded_admin import ReadOnlyAdmin


@admin.register(EnvironmentFile)
class EnvironmentFileAdmin(ReadOnlyAdmin):
    list_display = ["name", "version", "kind", "team", "state", "size_bytes", "created_at", "last_used_at"]
    list_filter = ["kind", "state"]
    list_select_related = ["team__competition"]
    search_fields = ["name", "team__name"]

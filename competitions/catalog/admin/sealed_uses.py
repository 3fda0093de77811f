"""The record of who saw the sealed scores of a phase, and when."""

from django.contrib import admin

from competitions.catalog.models import SealedUse
from competitions.catalog.organizer_admin import OrganizerAdmin, ReadOnly


@admin.register(SealedUse)
class SealedUseAdmin(ReadOnly, OrganizerAdmin):
    """Uses of the right to see sealed scores."""

    competition_path = "phase__competition"
    list_display = ["last_at", "user", "phase", "uses", "first_at"]
    list_select_related = ["user", "phase__competition"]

"""The winners' lane, for organizers: what is asked; the places themselves move on their pages."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from competitions.catalog.models import Competition, Leaderboard
from competitions.catalog.organizer_admin import History, OrganizerAdmin, ReadOnly
from competitions.winners.lanes import save_lane
from competitions.winners.models import Lane, Place, PlaceEvent


@admin.register(Lane)
class LaneAdmin(OrganizerAdmin):
    """Places, time and tolerance of one board's winners."""

    competition_path = "leaderboard__phase__competition"
    list_display = ["leaderboard", "top", "days", "tolerance", "min_equal_share", "score_tolerance"]
    list_select_related = ["leaderboard__phase__competition"]

    def save_model(self, request: HttpRequest, obj: Lane, form: Any, change: bool) -> None:
        save_lane(obj)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "leaderboard":
            mine = Competition.objects.managed_by(request.user)
            kwargs["queryset"] = Leaderboard.objects.filter(phase__competition__in=mine).select_related(
                "phase__competition"
            )
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class PlaceEventInline(History, admin.TabularInline[PlaceEvent, Place]):
    model = PlaceEvent
    competition_path = "place__lane__leaderboard__phase__competition"
    fields: ClassVar[Any] = ["at", "source", "target", "actor", "note"]
    readonly_fields: ClassVar[Any] = fields


@admin.register(Place)
class PlaceAdmin(ReadOnly, OrganizerAdmin):
    competition_path = "lane__leaderboard__phase__competition"
    list_display = ["team", "lane", "rank", "state", "invited_at", "due_at"]
    list_filter = ["state"]
    list_select_related = ["team", "lane__leaderboard__phase__competition"]
    inlines = [PlaceEventInline]

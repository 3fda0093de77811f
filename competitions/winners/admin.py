"""The winners' lane, for administrators to look at."""

from django.contrib import admin

from competitions.winners.models import Lane, Place, PlaceEvent
from core.guarded_admin import History, ReadOnlyAdmin


@admin.register(Lane)
class LaneAdmin(ReadOnlyAdmin):
    """Places, time and tolerance of one board's winners."""

    list_display = ["leaderboard", "top", "days", "tolerance", "min_equal_share", "score_tolerance"]
    list_select_related = ["leaderboard__phase__competition"]


class PlaceEventInline(History):
    model = PlaceEvent
    fields = ("at", "source", "target", "actor", "note")


@admin.register(Place)
class PlaceAdmin(ReadOnlyAdmin):
    list_display = ["team", "lane", "rank", "state", "invited_at", "due_at"]
    list_filter = ["state"]
    list_select_related = ["team", "lane__leaderboard__phase__competition"]
    inlines = [PlaceEventInline]

"""Registrations and teams, for organizers."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import User
from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions, ReadOnly
from competitions.teams.models import Membership, Registration, Team
from competitions.teams.services import registration_decide, team_save


@admin.register(Registration)
class RegistrationAdmin(ReadOnly, OrganizerAdmin):
    """Who registered; approve or deny with the actions."""

    list_display = ["user", "competition", "state", "rules_version", "accepted_at", "decided_by"]
    list_filter = ["state"]
    list_select_related = ["user", "competition", "rules_version__competition", "decided_by"]
    search_fields = ["user__username", "user__email"]
    actions = ["approve", "deny"]

    def _decide(self, request: HttpRequest, queryset: QuerySet[Registration], *, approve: bool) -> None:
        assert isinstance(request.user, User), "the admin lets nobody else in"
        done = sum(registration_decide(registration=one, approve=approve, by=request.user) for one in queryset)
        word = "approved" if approve else "denied"
        self.message_user(request, f"{done} of {queryset.count()} {word}; the others were so already.")

    @admin.action(description="Approve selected registrations", permissions=["change"])
    def approve(self, request: HttpRequest, queryset: QuerySet[Registration]) -> None:
        self._decide(request, queryset, approve=True)

    @admin.action(description="Deny selected registrations", permissions=["change"])
    def deny(self, request: HttpRequest, queryset: QuerySet[Registration]) -> None:
        self._decide(request, queryset, approve=False)


class MembershipInline(OwnCompetitions, admin.TabularInline[Membership, Team]):
    model = Membership
    extra = 0
    can_delete = False
    readonly_fields = ["user", "joined_at"]
    fields = ["user", "joined_at"]

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Team)
class TeamAdmin(OrganizerAdmin):
    """Teams; an organizer can mark one as a baseline or mend its name."""

    list_display = ["name", "competition", "captain", "is_baseline", "created_at"]
    list_filter = ["is_baseline"]
    list_select_related = ["competition", "captain"]
    search_fields = ["name"]
    fields = ["competition", "name", "captain", "is_baseline"]
    readonly_fields = ["competition", "captain"]
    inlines = [MembershipInline]

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Team, form: Any, change: bool) -> None:
        team_save(team=obj)

"""Registrations and teams, for organizers."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.models import User
from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions, ReadOnly
from competitions.teams.export import registrations_csv
from competitions.teams.models import Membership, MergeProposal, Registration, RegistrationQuestion, Team
from competitions.teams.services import registration_decide, team_save


@admin.register(RegistrationQuestion)
class RegistrationQuestionAdmin(OrganizerAdmin):
    """Questions to everybody who registers."""

    list_display = ["title", "key", "kind", "is_required", "competition"]
    list_filter = ["kind"]
    list_select_related = ["competition"]
    search_fields = ["title", "key", "competition__title"]
    fields = ["competition", "key", "title", "help_text", "kind", "choices", "is_required", "index"]


@admin.register(MergeProposal)
class MergeProposalAdmin(ReadOnly, OrganizerAdmin):
    """Merges of teams, proposed and done."""

    competition_path = "team__competition"
    list_display = ["team", "other", "state", "proposed_by", "created_at", "answered_at"]
    list_filter = ["state"]
    list_select_related = ["team", "other", "proposed_by"]
    search_fields = ["team__name", "other__name"]


@admin.register(Registration)
class RegistrationAdmin(ReadOnly, OrganizerAdmin):
    """Registrations; approve or deny them with the actions."""

    list_display = ["user", "competition", "state", "said", "rules_version", "accepted_at", "decided_by"]
    list_filter = ["state"]
    list_select_related = ["user", "competition", "rules_version__competition", "decided_by"]
    search_fields = ["user__username", "user__email"]
    actions = ["approve", "deny", "download_answers"]

    @admin.display(description="answers")
    def said(self, registration: Registration) -> str:
        return "; ".join(f"{key}: {answer}" for key, answer in registration.answers.items()) or "-"

    @admin.action(description="Download selected registrations with their answers (CSV)", permissions=["view"])
    def download_answers(self, request: HttpRequest, queryset: QuerySet[Registration]) -> HttpResponse:
        return registrations_csv(queryset.select_related("user", "competition", "rules_version"))

    def _decide(self, request: HttpRequest, queryset: QuerySet[Registration], *, approve: bool) -> None:
        assert isinstance(request.user, User), "the admin lets nobody else in"
        done = sum(
            registration_decide(registration=registration, approve=approve, by=request.user, now=timezone.now())
            for registration in queryset
        )
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
    fields = ["competition", "name", "captain", "is_baseline", "merged_into"]
    readonly_fields = ["competition", "captain", "merged_into"]
    inlines = [MembershipInline]

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Team, form: Any, change: bool) -> None:
        team_save(team=obj)

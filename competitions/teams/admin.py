"""Teams and registrations, for administrators to look at."""

from django.contrib import admin

from competitions.teams.models import Membership, MergeProposal, Registration, RegistrationQuestion, Team
from core.guarded_admin import History, ReadOnlyAdmin


@admin.register(RegistrationQuestion)
class RegistrationQuestionAdmin(ReadOnlyAdmin):
    list_display = ["title", "key", "kind", "is_required", "competition"]
    list_filter = ["kind"]
    list_select_related = ["competition"]
    search_fields = ["title", "key", "competition__title"]


@admin.register(MergeProposal)
class MergeProposalAdmin(ReadOnlyAdmin):
    """Merges of teams, proposed and done."""

    list_display = ["team", "other", "state", "proposed_by", "created_at", "answered_at"]
    list_filter = ["state"]
    list_select_related = ["team", "other", "proposed_by"]
    search_fields = ["team__name", "other__name"]


@admin.register(Registration)
class RegistrationAdmin(ReadOnlyAdmin):
    list_display = ["user", "competition", "state", "rules_version", "accepted_at", "decided_by"]
    list_filter = ["state"]
    list_select_related = ["user", "competition", "rules_version__competition", "decided_by"]
    search_fields = ["user__username", "user__email"]


class MembershipInline(History):
    model = Membership
    fields = ("user", "joined_at")


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    list_display = ["name", "competition", "captain", "is_baseline", "created_at"]
    list_filter = ["is_baseline"]
    list_select_related = ["competition", "captain"]
    search_fields = ["name"]
    inlines = [MembershipInline]

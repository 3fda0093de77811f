from datetime import timedelta
from typing import Final

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import AddressTaken, ApiToken, Profile, ProfileReport, Scope, User, address_confirm, token_create
from accounts.people.profiles import profile_hide, profile_release, profile_reports_dismiss
from accounts.views import person
from core.guarded_admin import GuardedAdmin, ReadOnlyAdmin
from files.text import quantity

ROBOT_TOKEN_DAYS: Final = 365


@admin.register(User)
class UserAdmin(GuardedAdmin, DjangoUserAdmin[User]):
    """People, for administrators. "Staff" makes somebody an organizer."""

    list_display = ["username", "email", "first_name", "last_name", "is_staff", "is_robot", "is_active"]
    list_filter = ["is_staff", "is_superuser", "is_robot", "is_active"]
    fieldsets = (
        *DjangoUserAdmin.fieldsets,  # type: ignore[misc]  # a tuple at run time, typed as any sequence
        ("Podium", {"fields": ["affiliation", "is_robot"]}),
    )
    actions = ["confirm_addresses", "make_robot_tokens"]

    @admin.action(description="Take the e-mail address as confirmed", permissions=["change"])
    def confirm_addresses(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Confirm addresses of people whom an administrator knows, where the site sends no mail."""
        for user in queryset:
            try:
                address_confirm(user)
            except AddressTaken as refusal:
                self.message_user(request, f"{user}: {refusal}", messages.ERROR)
                continue
            self.log_change(request, user, f"Took the address {user.email} as confirmed.")
            self.message_user(request, f"{user} can sign in now.")

    @admin.action(
        description=f"Make an API token for service accounts ({ROBOT_TOKEN_DAYS} days)", permissions=["change"]
    )
    def make_robot_tokens(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Service accounts cannot sign in to make their own. Nobody makes one that stands for a person."""
        expires_at = timezone.now() + timedelta(days=ROBOT_TOKEN_DAYS)
        for user in queryset:
            if not user.is_robot:
                self.message_user(request, f"{user} is a person, who makes tokens in the profile.", messages.ERROR)
                continue
            token, secret = token_create(
                user=user, name="made by an administrator", scopes=list(Scope.values), expires_at=expires_at
            )
            self.log_change(request, user, f"Made the API token {token}.")
            self.message_user(request, f"Token of {user}, shown only now: {secret}", messages.WARNING)


@admin.register(ProfileReport)
class ProfileReportAdmin(ReadOnlyAdmin):
    """Reports of public profiles, for administrators to decide on."""

    ordering = [F("settled_at").desc(nulls_first=True), "-pk"]  # open ones first
    list_display = ["profile", "username", "text", "reporter", "created_at", "is_open", "is_hidden", "settled_by"]
    list_select_related = ["profile__user", "reporter", "settled_by"]
    actions = ["dismiss", "hide", "release"]

    @admin.display(description="user name")
    def username(self, row: ProfileReport) -> str:
        return row.profile.user.get_username()

    @admin.display(boolean=True, description="open")
    def is_open(self, row: ProfileReport) -> bool:
        return row.settled_at is None

    @admin.display(boolean=True, description="profile hidden")
    def is_hidden(self, row: ProfileReport) -> bool:
        return row.profile.hidden_at is not None

    @admin.action(description="Leave the profile as it is", permissions=["decide"])
    def dismiss(self, request: HttpRequest, queryset: QuerySet[ProfileReport]) -> None:
        by, now = person(request), timezone.now()
        count = sum(profile_reports_dismiss(profile=profile, by=by, now=now) for profile in _profiles(queryset))
        self.message_user(request, f"{quantity(count, 'report is', 'reports are')} settled.")

    @admin.action(description="Hide the profile until it is released", permissions=["decide"])
    def hide(self, request: HttpRequest, queryset: QuerySet[ProfileReport]) -> None:
        for profile in _profiles(queryset):
            profile_hide(profile=profile, by=person(request), now=timezone.now())
            self.message_user(request, f"The profile of {profile.user} is hidden.")

    @admin.action(description="Release the profile: its person may show it again", permissions=["decide"])
    def release(self, request: HttpRequest, queryset: QuerySet[ProfileReport]) -> None:
        for profile in _profiles(queryset):
            if profile_release(profile=profile):
                self.message_user(request, f"{profile.user} may show the profile again.")


def _profiles(reports: QuerySet[ProfileReport]) -> list[Profile]:
    """The profiles of the chosen reports, each once."""
    return list(Profile.objects.filter(pk__in=reports.order_by().values("profile")).select_related("user"))


@admin.register(ApiToken)
class ApiTokenAdmin(GuardedAdmin):
    """API tokens, to be revoked; those of service accounts are made on the page of users."""

    list_display = ["name", "hint", "user", "created_at", "expires_at", "last_used_at", "revoked_at"]
    list_select_related = ["user"]
    readonly_fields = [
        "user",
        "name",
        "hint",
        "scopes",
        "agent_model",
        "agent_harness",
        "created_at",
        "expires_at",
        "last_used_at",
    ]
    fields = [*readonly_fields, "revoked_at"]

    def has_add_permission(self, request: object) -> bool:
        return False

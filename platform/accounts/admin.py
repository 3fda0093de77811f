from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin

from accounts.models import ApiToken, User


@admin.register(User)
class UserAdmin(DjangoUserAdmin[User]):
    """People, for administrators. "Staff" makes somebody an organizer."""

    list_display = ["username", "email", "first_name", "last_name", "is_staff", "is_robot", "is_active"]
    list_filter = ["is_staff", "is_superuser", "is_robot", "is_active"]
    fieldsets = (
        *DjangoUserAdmin.fieldsets,  # type: ignore[misc]  # a tuple at run time, typed as any sequence
        ("Podium", {"fields": ["affiliation", "is_robot"]}),
    )


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin[ApiToken]):
    """API tokens; they are made by their owners, an administrator can only revoke them."""

    list_display = ["name", "hint", "user", "created_at", "expires_at", "last_used_at", "revoked_at"]
    list_select_related = ["user"]
    readonly_fields = ["user", "name", "hint", "scopes", "created_at", "expires_at", "last_used_at"]
    fields = [*readonly_fields, "revoked_at"]

    def has_add_permission(self, request: object) -> bool:
        return False

"""The audit log, for administrators to read."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from audit.models import AuditEntry
from core.guarded_admin import GuardedAdmin


@admin.register(AuditEntry)
class AuditEntryAdmin(GuardedAdmin):
    """Nobody adds to it, changes it or deletes from it here."""

    list_display = ["at", "actor_name", "address", "method", "view", "action", "path", "status"]
    list_filter = ["method", "status", "view"]
    search_fields = ["actor_name", "path", "action"]
    date_hierarchy = "at"
    show_full_result_count = False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

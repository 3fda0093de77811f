"""The audit log, for administrators to read."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from audit.models import AuditEntry
from core.guarded_admin import ReadOnlyAdmin


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Nobody adds to it, changes it or deletes from it here."""

    list_display = ["at", "actor_name", "address", "method", "view", "action", "path", "status"]
    list_filter = ["method", "status", "view"]
    search_fields = ["actor_name", "path", "action"]
    date_hierarchy = "at"

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

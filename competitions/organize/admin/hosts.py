"""Requests to host, for administrators; drafts are their owners' alone and not in the admin."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User
from competitions.organize.hosts import host_request_decide
from competitions.organize.models import HostRequest
from core.guarded_admin import ReadOnlyAdmin


@admin.register(HostRequest)
class HostRequestAdmin(ReadOnlyAdmin):
    """Granting makes the person an organizer."""

    list_display = ["user", "purpose", "state", "created_at", "decided_by"]
    list_filter = ["state"]
    list_select_related = ["user", "decided_by"]
    search_fields = ["user__username", "user__email"]
    actions = ["grant", "decline"]

    @admin.action(description="Grant: they become organizers", permissions=["decide"])
    def grant(self, request: HttpRequest, queryset: QuerySet[HostRequest]) -> None:
        self._decide(request, queryset, grant=True)

    @admin.action(description="Decline", permissions=["decide"])
    def decline(self, request: HttpRequest, queryset: QuerySet[HostRequest]) -> None:
        self._decide(request, queryset, grant=False)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def _decide(self, request: HttpRequest, queryset: QuerySet[HostRequest], *, grant: bool) -> None:
        assert isinstance(request.user, User), "the admin lets nobody else in"
        rows, now = queryset.select_related("user"), timezone.now()
        done = sum(host_request_decide(request=row, grant=grant, by=request.user, now=now) for row in rows)
        self.message_user(request, f"{done} of {len(rows)} {'granted' if grant else 'declined'}.")

"""Queues and workers, for administrators."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from competitions.compute.models import ComputeWorker, Queue, queue_issue_token


@admin.register(Queue)
class QueueAdmin(admin.ModelAdmin[Queue]):
    list_display = ["name", "owner", "is_paused", "contact"]
    list_select_related = ["owner"]
    actions = ["issue_token"]

    @admin.action(description="Make a new token for the queue's workers (the old one ends)", permissions=["change"])
    def issue_token(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        for queue in queryset:
            secret = queue_issue_token(queue)
            self.message_user(request, f"Token of {queue}, shown only now: {secret}", messages.WARNING)


@admin.register(ComputeWorker)
class ComputeWorkerAdmin(admin.ModelAdmin[ComputeWorker]):
    """Workers as they described themselves; a quarantined one can be released."""

    list_display = ["name", "queue", "version", "slots", "last_seen_at", "infrastructure_failures", "quarantined_at"]
    list_select_related = ["queue"]
    readonly_fields = [
        "key", "queue", "name", "instance", "version", "slots", "host", "registered_at", "last_seen_at",
        "infrastructure_failures", "quarantined_at",
    ]  # fmt: skip
    actions = ["release"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.action(description="Release from quarantine", permissions=["change"])
    def release(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        released = queryset.exclude(quarantined_at=None).update(quarantined_at=None, infrastructure_failures=0)
        self.message_user(request, f"{released} of {queryset.count()} released; the others were not in quarantine.")

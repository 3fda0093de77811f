"""Admin pages of queues and workers: load, owners, and workers to drain or release."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Count, Min, Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.timesince import timesince

from competitions.compute.models import ComputeWorker, Queue, queue_give
from competitions.compute.workers import drain_workers, release_workers, undrain_workers
from core.guarded_admin import GuardedAdmin, History, ReadOnlyAdmin

WAITING = Q(runs__state="queued")
HELD = Q(runs__state__in=("leased", "preparing", "ingesting", "scoring"))


class WorkerInline(History):
    model = ComputeWorker
    fields = ("name", "role", "version", "slots", "last_seen_at", "drained_at", "quarantined_at", "slot_faults")
    show_change_link = True


@admin.register(Queue)
class QueueAdmin(GuardedAdmin):
    """A queue with its load and owner; settings and token are on its page under "Host"."""

    list_display = ["name", "owner", "is_paused", "waiting", "oldest", "running", "workers_answering", "contact"]
    list_select_related = ["owner"]
    fields: ClassVar[Any] = ["owner", *(name for names in Queue.form.values() for name in names)]
    readonly_fields = fields[1:]
    inlines = [WorkerInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Queue]:
        counted: QuerySet[Queue] = super().get_queryset(request)
        return counted.annotate(
            waiting_runs=Count("runs", filter=WAITING, distinct=True),
            held_runs=Count("runs", filter=HELD, distinct=True),
            oldest_at=Min("runs__queued_at", filter=WAITING),
        ).prefetch_related("workers")

    def save_model(self, request: HttpRequest, obj: Queue, form: Any, change: bool) -> None:
        if "owner" in form.changed_data and queue_give(obj, obj.owner):
            words = f"The token of {obj} has ended with its change of owner: make a new one for its workers."
            self.message_user(request, words, messages.WARNING)

    @admin.display(description="Waiting")
    def waiting(self, queue: Any) -> int:
        return int(queue.waiting_runs)

    @admin.display(description="Running")
    def running(self, queue: Any) -> int:
        return int(queue.held_runs)

    @admin.display(description="Oldest waits for")
    def oldest(self, queue: Any) -> str:
        return timesince(queue.oldest_at) if queue.oldest_at else "nothing waits"

    @admin.display(description="Workers that answer")
    def workers_answering(self, queue: Queue) -> str:
        workers, now = list(queue.workers.all()), timezone.now()
        return f"{sum(not worker.is_silent(now) for worker in workers)} of {len(workers)}"


@admin.register(ComputeWorker)
class ComputeWorkerAdmin(ReadOnlyAdmin):
    """Workers as they described themselves; many can be drained or released at once."""

    list_display = [
        "name",
        "queue",
        "role",
        "version",
        "slots",
        "last_seen",
        "infrastructure_failures",
        "drained_at",
        "quarantined_at",
    ]
    list_filter = ["queue"]
    list_select_related = ["queue"]
    actions = ["release", "drain", "undrain"]

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Administrators: a right to look at workers gives nobody else a say over them."""
        return bool(request.user.is_superuser)

    @admin.display(description="Last answered", ordering="last_seen_at")
    def last_seen(self, worker: ComputeWorker) -> str:
        return f"{timesince(worker.last_seen_at)} ago"

    @admin.action(description="Release from quarantine", permissions=["operate"])
    def release(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        self.message_user(request, f"{release_workers(queryset)} of {queryset.count()} released.")

    @admin.action(description="Drain: no more runs, what it has goes on to its end", permissions=["operate"])
    def drain(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        self.message_user(request, f"{drain_workers(queryset, timezone.now())} of {queryset.count()} drained.")

    @admin.action(description="Take back into service", permissions=["operate"])
    def undrain(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        self.message_user(request, f"{undrain_workers(queryset)} back in service.")

"""Queues and workers: administrators see all of them, organizers make queues of their own and see their workers."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Count, Min, Model, Q, QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.timesince import timesince

from competitions.compute.models import (
    ComputeWorker,
    Queue,
    queue_issue_token,
    queue_owner_changing,
    queue_revoke_token,
)
from competitions.compute.workers import drain_workers, release_workers, undrain_workers
from core.guarded_admin import GuardedAdmin
from core.refusals import Refusal

WAITING = Q(runs__state="queued")
HELD = Q(runs__state__in=("leased", "preparing", "ingesting", "scoring"))


def is_staff(request: HttpRequest) -> bool:
    return request.user.is_active and bool(getattr(request.user, "is_staff", False))


class OwnQueues:
    """Mixin of the admins: an organizer's own queues and what belongs to them; everything for an administrator."""

    owner_path: ClassVar[str] = "owner"

    def _mine(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = self.model._default_manager.all()  # type: ignore[attr-defined]  # of the admin class
        user = request.user
        return rows if getattr(user, "is_superuser", False) else rows.filter(**{self.owner_path: user.pk or 0})

    def _is_mine(self, request: HttpRequest, obj: Model | None) -> bool:
        return is_staff(request) and (obj is None or obj.pk is None or self._mine(request).filter(pk=obj.pk).exists())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self._mine(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_staff(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return is_staff(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)


WORKER_COLUMNS = ["name", "role", "version", "slots", "last_seen", "drained_at", "quarantined_at", "slot_faults"]


class LastSeen:
    """The age of a worker's last word, in words."""

    @admin.display(description="Last answered", ordering="last_seen_at")
    def last_seen(self, worker: ComputeWorker) -> str:
        return f"{timesince(worker.last_seen_at)} ago"


class WorkerInline(OwnQueues, LastSeen, admin.TabularInline[ComputeWorker, Queue]):
    model = ComputeWorker
    owner_path = "queue__owner"
    fields: ClassVar[Any] = WORKER_COLUMNS
    readonly_fields: ClassVar[Any] = WORKER_COLUMNS
    extra = 0
    can_delete = False
    show_change_link = True

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class QueueForm(forms.ModelForm[Queue]):
    """A queue whose new owner may have all that runs on it."""

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.instance.pk and "owner" in self.changed_data:
            queue = Queue(pk=self.instance.pk, name=self.instance.name, owner=cleaned.get("owner"))
            try:
                queue_owner_changing.send(sender=Queue, queue=queue)
            except Refusal as refusal:
                self.add_error("owner", refusal.detail)
        return cleaned


@admin.register(Queue)
class QueueAdmin(OwnQueues, GuardedAdmin):
    """A queue with what waits and runs on it. An organizer who adds one owns it; its token goes to the workers' hosts."""

    form = QueueForm
    list_display = ["name", "owner", "handing_out", "waiting", "oldest", "running", "workers_answering", "contact"]
    list_select_related = ["owner"]
    fields: ClassVar[Any] = ["owner", *(name for names in Queue.form.values() for name in names)]
    inlines = [WorkerInline]
    actions = ["issue_token", "revoke_token", "pause", "resume"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Queue]:
        counted: QuerySet[Queue] = (
            super()
            .get_queryset(request)
            .annotate(
                waiting_runs=Count("runs", filter=WAITING, distinct=True),
                held_runs=Count("runs", filter=HELD, distinct=True),
                oldest_at=Min("runs__queued_at", filter=WAITING),
            )
            .prefetch_related("workers")
        )
        return counted

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [] if getattr(request.user, "is_superuser", False) else ["owner"]

    def save_model(self, request: HttpRequest, obj: Queue, form: Any, change: bool) -> None:
        if not change and not getattr(request.user, "is_superuser", False):
            obj.owner_id = request.user.pk
        super().save_model(request, obj, form, change)
        if change and "owner" in form.changed_data and obj.token_digest:
            # Who owned the queue knows the token, and would go on to read what the new owner's workers get.
            queue_revoke_token(obj)
            words = f"The token of {obj} has ended with its change of owner: make a new one for its workers."
            self.message_user(request, words, messages.WARNING)

    @admin.display(description="Waiting")
    def waiting(self, queue: Queue) -> int:
        return queue.waiting_runs  # type: ignore[attr-defined,no-any-return]  # an annotation

    @admin.display(description="Running")
    def running(self, queue: Queue) -> int:
        return queue.held_runs  # type: ignore[attr-defined,no-any-return]  # an annotation

    @admin.display(description="Oldest waits for")
    def oldest(self, queue: Queue) -> str:
        since = queue.oldest_at  # type: ignore[attr-defined]  # an annotation
        return timesince(since) if since else "nothing waits"

    @admin.display(description="State", ordering="is_paused")
    def handing_out(self, queue: Queue) -> str:
        return "paused" if queue.is_paused else "open"

    @admin.display(description="Workers that answer")
    def workers_answering(self, queue: Queue) -> str:
        workers, now = list(queue.workers.all()), timezone.now()
        return f"{sum(not worker.is_silent(now) for worker in workers)} of {len(workers)}"

    @admin.action(description="Make a new token for the queue's workers (the old one ends)", permissions=["change"])
    def issue_token(self, request: HttpRequest, queryset: QuerySet[Queue]) -> TemplateResponse | None:
        words = "Their tokens end at once: every worker is refused until it has the new one. It is shown once."
        if queryset.exclude(token_digest="").exists() and (page := self._asks_first(request, queryset, words)):
            return page
        for queue in queryset:
            secret = queue_issue_token(queue)
            self.message_user(request, f"Token of {queue}, shown only now: {secret}", messages.WARNING)
        return None

    @admin.action(description="Revoke the token: no worker of the queue is let in any more", permissions=["change"])
    def revoke_token(self, request: HttpRequest, queryset: QuerySet[Queue]) -> TemplateResponse | None:
        words = "No worker of these queues is let in from then on, and what runs there is lost. A new token ends this."
        if page := self._asks_first(request, queryset, words):
            return page
        for queue in queryset:
            queue_revoke_token(queue)
        self.message_user(
            request, "Revoked. What runs is lost to its workers when they next call; make a new token to go on."
        )
        return None

    def _asks_first(self, request: HttpRequest, queryset: QuerySet[Queue], words: str) -> TemplateResponse | None:
        """The page that says what would end, with what runs now; None once the person has confirmed."""
        if request.POST.get("confirmed") == "yes":
            return None
        context = admin.site.each_context(request) | {
            "title": "Tokens of queues",
            "action": request.POST["action"],
            "words": words,
            "opts": self.model._meta,
            "queryset": queryset,
            "checkbox_name": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/compute/confirm.html", context)

    @admin.action(description="Pause: hand out nothing, what runs goes on", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        self.message_user(request, f"{queryset.filter(is_paused=False).update(is_paused=True)} paused.")

    @admin.action(description="Resume", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        self.message_user(request, f"{queryset.filter(is_paused=True).update(is_paused=False)} resumed.")


@admin.register(ComputeWorker)
class ComputeWorkerAdmin(OwnQueues, LastSeen, GuardedAdmin):
    """Workers as they described themselves; one can be drained, and a quarantined one released."""

    owner_path = "queue__owner"
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
    readonly_fields = [
        "key", "queue", "name", "role", "instance", "version", "slots", "slot_faults", "images", "host", "self_test", "calibration",
        "registered_at", "last_seen_at", "infrastructure_failures", "drained_at", "quarantined_at",
    ]  # fmt: skip
    actions = ["release", "drain", "undrain"]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.action(description="Release from quarantine", permissions=["change"])
    def release(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        released = release_workers(queryset)
        self.message_user(request, f"{released} of {queryset.count()} released; the others were not in quarantine.")

    @admin.action(description="Drain: no more runs, what it has goes on to its end", permissions=["change"])
    def drain(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        drained = drain_workers(queryset, timezone.now())
        self.message_user(request, f"{drained} of {queryset.count()} drained.")

    @admin.action(description="Take back into service", permissions=["change"])
    def undrain(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        self.message_user(request, f"{undrain_workers(queryset)} back in service.")

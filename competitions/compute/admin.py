"""Admin pages of queues, workers, launchers and jobs of clusters, with what can be done to them."""

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Count, Min, Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.timesince import timesince

from competitions.compute.launchers import problem_words, queue_problems
from competitions.compute.models import (
    WORKER_SILENT_AFTER_S,
    ClusterJob,
    ComputeWorker,
    Launcher,
    Queue,
    issue_token,
    queue_give,
    revoke_token,
)
from competitions.compute.workers import drain_workers, release_workers, undrain_workers
from core.guarded_admin import GuardedAdmin, History, ReadOnlyAdmin

WAITING = Q(runs__state="queued")
HELD = Q(runs__state__in=("leased", "preparing", "ingesting", "scoring"))


class WorkerInline(History):
    model = ComputeWorker
    fields = ("name", "role", "version", "slots", "last_seen_at", "drained_at", "quarantined_at", "slot_faults")
    show_change_link = True


class JobInline(History):
    """Jobs of clusters that have not ended."""

    model = ClusterJob
    fields = ("job", "launcher", "kind", "state", "detail", "gpus", "nodes", "submitted_at", "expected_start_at")
    verbose_name_plural = "cluster jobs that have not ended"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).exclude(state=ClusterJob.State.ENDED).select_related("launcher")


@admin.register(Queue)
class QueueAdmin(GuardedAdmin):
    """A queue with its load and owner; settings and token are on its page under "Host"."""

    list_display = ["name", "owner", "is_paused", "waiting", "oldest", "running", "workers_answering", "contact"]
    list_select_related = ["owner"]
    fields: ClassVar[Any] = ["owner", *(name for names in Queue.form.values() for name in names), "launching"]
    readonly_fields = fields[1:]
    inlines = [WorkerInline, JobInline]

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

    @admin.display(description="Launchers")
    def launching(self, queue: Queue) -> str:
        """The launchers of the queue, and what keeps them from starting jobs."""
        now, problems = timezone.now(), queue_problems(queue)
        lines = [
            f"{launcher}: " + ("has not reported for five minutes" if launcher.is_silent(now) else "reports")
            for launcher in queue.launchers.all()
        ]
        lines += [f"{launcher}: {problem_words(problem)}" for launcher, problem in problems]
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in lines)) or "none"

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


class WorkerStateFilter(admin.SimpleListFilter):
    """Workers that take no runs, by the reason."""

    title, parameter_name = "state", "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("quarantined", "in quarantine"), ("drained", "drained"), ("silent", "silent")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> QuerySet[ComputeWorker]:
        heard = timezone.now() - timedelta(seconds=WORKER_SILENT_AFTER_S)
        chosen = {
            "quarantined": ~Q(quarantined_at=None),
            "drained": ~Q(drained_at=None),
            "silent": Q(last_seen_at__lt=heard),
        }
        return queryset.filter(chosen.get(self.value() or "", Q()))


@admin.register(ComputeWorker)
class ComputeWorkerAdmin(ReadOnlyAdmin):
    """Workers as they described themselves; many can be drained or released at once."""

    list_display = [
        "name",
        "state",
        "queue",
        "role",
        "version",
        "slots",
        "last_seen",
        "infrastructure_failures",
    ]
    list_filter = [WorkerStateFilter, "queue"]
    list_select_related = ["queue"]
    actions = ["release", "drain", "undrain"]

    @admin.display(description="State")
    def state(self, worker: ComputeWorker) -> str:
        since = worker.quarantined_at or worker.drained_at
        return f"{worker.standing(timezone.now())}{f' for {timesince(since)}' if since else ''}"

    @admin.display(description="Last answered", ordering="last_seen_at")
    def last_seen(self, worker: ComputeWorker) -> str:
        return f"{timesince(worker.last_seen_at)} ago"

    @admin.action(description="Release from quarantine", permissions=["decide"])
    def release(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        self.message_user(request, f"{release_workers(queryset)} of {queryset.count()} released.")

    @admin.action(description="Drain: no more runs, current runs will finish", permissions=["decide"])
    def drain(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        self.message_user(request, f"{drain_workers(queryset, timezone.now())} of {queryset.count()} drained.")

    @admin.action(description="Take back into service", permissions=["decide"])
    def undrain(self, request: HttpRequest, queryset: QuerySet[ComputeWorker]) -> None:
        self.message_user(request, f"{undrain_workers(queryset)} back in service.")


@admin.register(Launcher)
class LauncherAdmin(GuardedAdmin):
    """Launchers of clusters: their queues, their tokens, and what they report."""

    list_display = ["name", "last_seen", "source", "version", "has_token", "alive"]
    fields: ClassVar[Any] = ["name", "queues", "last_seen", "source", "version", "reported_problems"]
    readonly_fields = fields[2:]
    filter_horizontal = ["queues"]
    actions = ["issue_token", "revoke_token"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Launcher]:
        counted: QuerySet[Launcher] = super().get_queryset(request)
        return counted.annotate(alive_jobs=Count("jobs", filter=~Q(jobs__state=ClusterJob.State.ENDED)))

    @admin.display(description="Last report", ordering="last_seen_at")
    def last_seen(self, launcher: Launcher) -> str:
        return f"{timesince(launcher.last_seen_at)} ago" if launcher.last_seen_at else "never"

    @admin.display(description="Has a token", boolean=True)
    def has_token(self, launcher: Launcher) -> bool:
        return bool(launcher.token_digest)

    @admin.display(description="Jobs that have not ended")
    def alive(self, launcher: Any) -> int:
        return int(launcher.alive_jobs)

    @admin.display(description="Problems")
    def reported_problems(self, launcher: Launcher) -> str:
        lines = (
            (f"{problem.get('queue') or 'all queues'}: {problem_words(problem)}",) for problem in launcher.problems
        )
        return format_html_join(mark_safe("<br>"), "{}", lines) or "none"

    @admin.action(description="Make a new token, shown once; the old one ends", permissions=["decide"])
    def issue_token(self, request: HttpRequest, queryset: QuerySet[Launcher]) -> None:
        for launcher in queryset:
            secret = issue_token(launcher)
            self.log_change(request, launcher, "Made a new token.")
            self.message_user(request, f"Token of {launcher}, shown only now: {secret}", messages.WARNING)

    @admin.action(description="Revoke the token", permissions=["decide"])
    def revoke_token(self, request: HttpRequest, queryset: QuerySet[Launcher]) -> None:
        for launcher in queryset:
            revoke_token(launcher)
            self.log_change(request, launcher, "Ended its token.")
        self.message_user(request, "No launcher is let in with these tokens any more.")


@admin.register(ClusterJob)
class ClusterJobAdmin(ReadOnlyAdmin):
    """Jobs that launchers put into their clusters, with how they ended."""

    list_display = [
        "job",
        "launcher",
        "queue",
        "kind",
        "state",
        "end_reason",
        "detail",
        "gpus",
        "submitted_at",
        "started_at",
        "ended_at",
    ]
    list_filter = ["state", "end_reason", "launcher", "queue"]
    list_select_related = ["launcher", "queue"]

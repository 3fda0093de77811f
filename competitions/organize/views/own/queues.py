"""An organizer's queues: what waits and runs there, their workers, their token, their settings."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Count, F, Min, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.views import person
from competitions.catalog.changes.competitions import change_queue
from competitions.catalog.form_fields.sizes import SizeField
from competitions.catalog.models import Competition, setting_names
from competitions.compute.launchers import problem_words, queue_jobs, queue_problems
from competitions.compute.models import ComputeWorker, Queue, issue_token, revoke_token
from competitions.compute.workers import drain_workers, release_workers, undrain_workers
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.forms import GpuHoursForm, TokenForm, WorkerForm
from competitions.organize.hosts import require_staff
from competitions.organize.views.editing.changes import change_page, render_page
from competitions.organize.views.workspace import shown_month
from competitions.organize.workspace.usage import queue_usage
from competitions.runs.accounting.gpu_hours import give_gpu_hours
from competitions.runs.accounting.usage import slots_in, usage_csv
from competitions.runs.models import Run
from competitions.runs.queue.positions import queues_without_worker
from competitions.submissions.states import HELD, State
from competitions.web.forms import cleaned

MOST_JOBS: Final = 50  # that are listed
WORKER_ACTIONS: Final[Mapping[str, tuple[str, Callable[[QuerySet[ComputeWorker]], int]]]] = {
    "drain": ("gets no more runs; current runs will finish", lambda rows: drain_workers(rows, timezone.now())),
    "undrain": ("is back in service", undrain_workers),
    "release": ("is released from quarantine", release_workers),
}
SIZES: Final = ("max_image_bytes", "environment_bytes")


def own_queues(user: User) -> QuerySet[Queue]:
    """The queues that this person may change: their own; all of them for an administrator."""
    return Queue.objects.all() if user.is_superuser else Queue.objects.filter(owner=user)


def with_loads(queues: QuerySet[Queue]) -> QuerySet[Queue]:
    """The queues with `waiting` and `running` runs, and since when the oldest one waits (`oldest_at`)."""
    waits = Q(runs__state=State.QUEUED)
    return queues.annotate(
        waiting=Count("runs", filter=waits, distinct=True),
        running=Count("runs", filter=Q(runs__state__in=HELD), distinct=True),
        oldest_at=Min("runs__queued_at", filter=waits),
    )


class QueueForm(ChangeForm):
    """A queue's settings, not its name, which workers use. One that an administrator adds is the site's."""

    groups: ClassVar[Any] = tuple(Queue.form.items())

    class Meta:
        model = Queue
        fields = setting_names(Queue)
        field_classes: ClassVar[dict[str, object]] = dict.fromkeys(SIZES, SizeField)
        labels: ClassVar[dict[str, str]] = {
            "is_paused": "Paused",
            "max_image_bytes": "Largest team image",
            "environment_bytes": "Limit for an environment",
        }
        widgets: ClassVar[dict[str, object]] = dict.fromkeys(SIZES, forms.TextInput) | dict.fromkeys(
            ("allowed_images", "image_registries"), forms.Textarea(attrs={"rows": 3})
        )

    def __init__(self, data: QueryDict | None = None, *, by: User, instance: Queue | None = None) -> None:
        super().__init__(data, instance=instance or Queue(owner=None if by.is_superuser else by))
        if instance is not None:
            del self.fields["name"]

    def write(self, now: datetime) -> Queue:
        return change_queue(self.instance, now=now, confirmed=self.confirmed).row


def _own(request: HttpRequest, name: str) -> Queue:
    """The asker's queue of this name; any other does not exist."""
    user = person(request)
    require_staff(user)
    return get_object_or_404(own_queues(user), name=name)


@require_safe
def queues(request: HttpRequest) -> HttpResponse:
    """The asker's queues with what waits and runs there."""
    user, now = person(request), timezone.now()
    require_staff(user)
    rows = with_loads(own_queues(user)).select_related("owner").prefetch_related("workers")
    rows = rows.order_by(F("oldest_at").asc(nulls_last=True), "name")  # first where runs have waited longest
    loads = [(row, sum(not worker.is_silent(now) for worker in row.workers.all())) for row in rows]
    return render_page(request, None, "organize/own/queues.html", {"queues": loads}, tab="queues")


@never_cache
@require_safe
def queue(request: HttpRequest, name: str) -> HttpResponse:
    """One queue: what waits and runs, its workers, and its token."""
    shown, now = get_object_or_404(with_loads(Queue.objects.filter(pk=_own(request, name).pk))), timezone.now()
    workers = [(worker, worker.is_silent(now)) for worker in shown.workers.all()]
    context = {
        "queue": shown,
        "workers": workers,
        "is_unserved": shown in queues_without_worker(now),
        "newest": shown.workers.order_by("last_seen_at").last(),
        "launchers": [(launcher, launcher.is_silent(now)) for launcher in shown.launchers.all()],
        "problems": [(launcher, problem_words(problem)) for launcher, problem in queue_problems(shown)],
        "jobs": queue_jobs(shown)[:MOST_JOBS],
        "job_count": queue_jobs(shown).count(),
        "usage": queue_usage(shown, shown_month(request, now), now=now),
    }
    return render_page(request, None, "organize/own/queue.html", context, tab="queues")


@require_safe
def usage_file(request: HttpRequest, name: str) -> StreamingHttpResponse:
    """The queue's use in a month as CSV."""
    chosen, now = _own(request, name), timezone.now()
    month = shown_month(request, now)
    return usage_csv(slots_in(month, now=now).filter(queue=chosen), month, name=f"{chosen.name}-{month}")


@require_POST
def gpu_hours(request: HttpRequest, name: str) -> HttpResponse:
    """Give a competition its own number of GPU hours a month on the queue, or the queue's number again."""
    chosen, values = _own(request, name), cleaned(GpuHoursForm(request.POST))
    competition = get_object_or_404(Competition, slug=values["competition"], queue=chosen)
    give_gpu_hours(chosen, competition, values["hours"])
    given = f"{values['hours']} GPU hours a month" if values["hours"] is not None else "the queue's number of GPU hours"
    messages.success(request, f"{competition} has {given}.")
    return redirect("organize:queue", chosen.name)


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, name: str = "") -> HttpResponse:
    """Change a queue, or add one."""
    user = person(request)
    require_staff(user)
    before = _own(request, name) if name else None

    def make(data: QueryDict | None) -> QueueForm:
        if before is None:
            return QueueForm(data, by=user)
        rows = own_queues(user).select_for_update(of=("self",), no_key=True) if data else own_queues(user)
        return QueueForm(data, by=user, instance=get_object_or_404(rows, pk=before.pk))

    return change_page(request, make, tab="queues", title=f"Queue “{before.name}”" if before else "New queue")


@never_cache
@require_POST
def token(request: HttpRequest, name: str) -> HttpResponse:
    """Make a new token, shown once, or revoke the present one; asks first, naming what it stops."""
    chosen, values = _own(request, name), cleaned(TokenForm(request.POST))
    is_new = values["action"] == "issue"
    if chosen.token_digest and not values["confirmed"]:
        running = Run.objects.filter(queue=chosen, state__in=HELD).count()
        context = {"queue": chosen, "is_new": is_new, "running": running}
    elif is_new:
        context = {"queue": chosen, "secret": issue_token(chosen)}
    else:
        revoke_token(chosen)
        messages.success(request, "Workers can no longer connect. Make a new token to reconnect them.")
        return redirect("organize:queue", chosen.name)
    return render_page(request, None, "organize/own/token.html", context, tab="queues")


@require_POST
def worker(request: HttpRequest, name: str, key: UUID) -> HttpResponse:
    """Drain a worker, take it back, or release it from quarantine."""
    chosen = _own(request, name)
    rows = chosen.workers.filter(key=key)
    shown = get_object_or_404(rows)
    words, act = WORKER_ACTIONS[cleaned(WorkerForm(request.POST))["action"]]
    if act(rows):
        messages.success(request, f"{shown.name} {words}.")
    return redirect("organize:queue", chosen.name)

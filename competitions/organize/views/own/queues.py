"""An organizer's queues: what waits and runs there, their workers, their token, their settings."""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.compute.launchers import problem_words, queue_jobs, queue_problems
from competitions.compute.models import ComputeWorker, Queue, queue_issue_token, queue_revoke_token
from competitions.compute.workers import drain_workers, release_workers, undrain_workers
from competitions.organize.editing.queues import QueueForm, own_queues, running_on, with_loads
from competitions.organize.forms import TokenForm, WorkerForm
from competitions.organize.hosts import require_staff
from competitions.organize.views.changes import change_page, render_page
from competitions.web.forms import cleaned

MOST_JOBS: Final = 50  # that are listed
WORKER_ACTIONS: Final[Mapping[str, tuple[str, Callable[[QuerySet[ComputeWorker]], int]]]] = {
    "drain": ("gets no more runs; what it has goes on to its end", lambda rows: drain_workers(rows, timezone.now())),
    "undrain": ("is back in service", undrain_workers),
    "release": ("is released from quarantine", release_workers),
}


def _own(request: HttpRequest, name: str) -> Queue:
    """The asker's queue of this name; any other does not exist."""
    user = person(request)
    require_staff(user)
    return get_object_or_404(own_queues(user), name=name)


@require_safe
def queues(request: HttpRequest) -> HttpResponse:
    """The asker's queues with what waits and runs there."""
    user = person(request)
    require_staff(user)
    rows = with_loads(own_queues(user)).select_related("owner").prefetch_related("workers")
    return render_page(request, None, "organize/own/queues.html", {"queues": rows}, tab="queues")


@never_cache
@require_safe
def queue(request: HttpRequest, name: str) -> HttpResponse:
    """One queue: what waits and runs, its workers, and its token."""
    shown, now = get_object_or_404(with_loads(Queue.objects.filter(pk=_own(request, name).pk))), timezone.now()
    workers = [(worker, worker.is_silent(now)) for worker in shown.workers.all()]
    context = {
        "queue": shown,
        "workers": workers,
        "launchers": [(launcher, launcher.is_silent(now)) for launcher in shown.launchers.all()],
        "problems": [(launcher, problem_words(problem)) for launcher, problem in queue_problems(shown)],
        "jobs": queue_jobs(shown)[:MOST_JOBS],
        "job_count": queue_jobs(shown).count(),
    }
    return render_page(request, None, "organize/own/queue.html", context, tab="queues")


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
        context = {"queue": chosen, "is_new": is_new, "running": running_on(chosen)}
        return render_page(request, None, "organize/own/token.html", context, tab="queues")
    if is_new:
        secret = queue_issue_token(chosen)
        context = {"queue": chosen, "secret": secret}
        return render_page(request, None, "organize/own/token.html", context, tab="queues")
    queue_revoke_token(chosen)
    messages.success(request, f"No worker of {chosen} is let in from now on. Make a new token to go on.")
    return redirect("organize:queue", chosen.name)


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

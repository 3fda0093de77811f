"""Calls of cluster launchers: how much waits, and what became of the jobs that they started.

A launcher's token sees the depth of its queues and nothing else: no run, no name, no file.
"""

from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from competitions.compute.launchers import launcher_by_token, launcher_queue, launcher_report
from competitions.compute.models import Launcher
from competitions.runs.leases.reports import InvalidResult
from competitions.runs.queue.demand import class_depth, launcher_depth, queue_depths
from competitions.runs.worker_api.views import UNAUTHORIZED, bearer, body_message, message_room, worker_view
from workers.protocol.hosts import Isolation
from workers.protocol.launching import LauncherReport, QueueDepth, ResourceClass

BOUNDS: Final = ("gpus", "max_memory_bytes", "max_wall_s")  # of the runs that are counted


def token_launcher(request: HttpRequest) -> Launcher:
    """The launcher that asks. Raises the refusal of a token that is not valid."""
    launcher = launcher_by_token(bearer(request))
    if launcher is None:
        raise UNAUTHORIZED(
            detail="This launcher token is unknown or was replaced. Put the current one into the launcher's token file."
        )
    return launcher


@worker_view("GET")
def depth(request: HttpRequest) -> HttpResponse:
    return JsonResponse(launcher_depth(token_launcher(request), now=timezone.now()).model_dump(mode="json"))


@worker_view("GET")
def queue_depth(request: HttpRequest, name: str) -> HttpResponse:
    """One queue's depth, of all its runs or of those within bounds, for a scaler that reads one number."""
    queue = launcher_queue(token_launcher(request), name)
    bounds = {bound: _number(request, bound) for bound in BOUNDS}
    (whole,) = queue_depths([queue], now=timezone.now())
    isolation = _isolation(request)
    classes = [
        each
        for each in whole.classes
        if _is_within(each, bounds) and (isolation is None or each.isolation == isolation)
    ]
    shown: QueueDepth = class_depth(queue, classes)
    return JsonResponse(shown.model_dump(mode="json"))


def _number(request: HttpRequest, bound: str) -> int | None:
    value = request.GET.get(bound)
    if value is None:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= 18):
        raise InvalidResult(f"'{bound}' must be a whole number, such as {bound}=1, not {ascii(value)[:60]}.")
    return int(value)


def _isolation(request: HttpRequest) -> Isolation | None:
    value = request.GET.get("isolation")
    if value is None:
        return None
    if value not in list(Isolation):
        raise InvalidResult(f"'isolation' must be one of {', '.join(Isolation)}, not {ascii(value)[:60]}.")
    return Isolation(value)


def _is_within(each: ResourceClass, bounds: dict[str, int | None]) -> bool:
    """True for runs with so many GPUs, and at most so much memory and time."""
    gpus, memory_bytes, wall_s = (bounds[name] for name in BOUNDS)
    return (
        (gpus is None or each.gpus == gpus)
        and (memory_bytes is None or each.memory_bytes <= memory_bytes)
        and (wall_s is None or each.wall_s <= wall_s)
    )


@worker_view("POST", message_room(token_launcher))
def report(request: HttpRequest) -> HttpResponse:
    launcher = token_launcher(request)
    message = body_message(request, LauncherReport)
    return JsonResponse({"ended": launcher_report(launcher, message, now=timezone.now())})

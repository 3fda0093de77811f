"""`/healthz`: the process answers. `/readyz`: it can serve, because database and storage answer.

A load balancer or a container engine asks by an address of its own: neither needs the site's host name or https.
"""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from competitions.resources.stores import object_store
from core import health


def alive(request: HttpRequest) -> JsonResponse:
    """200 while the process answers; checks nothing else, so a slow database causes no restarts."""
    return JsonResponse({"status": "ok"})


def ready(request: HttpRequest) -> JsonResponse:
    """503 with a list of missing services; else 200, also while an optional service is away."""
    faults = health.faults()
    if not object_store().is_writable():
        faults.append("object store: not writable")
    if faults:
        return JsonResponse({"status": "not ready", "faults": faults, "degraded": []}, status=503)
    degraded = health.degraded()
    return JsonResponse({"status": "degraded" if degraded else "ready", "faults": [], "degraded": degraded})


class HealthMiddleware(MiddlewareMixin):
    """Answers both before anything looks at the host name, or sends to https. First in `MIDDLEWARE`."""

    VIEWS = {"/healthz": alive, "/readyz": ready}

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        view = self.VIEWS.get(request.path_info)
        return view(request) if view else None

"""URLs of workers and of launchers of clusters, below /api/worker/v1/."""

from django.urls import path

from competitions.runs.worker_api import launchers
from competitions.runs.worker_api import views as api

urlpatterns = [
    path("register", api.register, name="worker-register"),
    path("claim", api.claim, name="worker-claim"),
    path("files/<str:token>", api.file, name="worker-file"),
    path("runs/<uuid:run_id>/heartbeat", api.heartbeat, name="worker-heartbeat"),
    path("runs/<uuid:run_id>/outputs/<str:name>", api.output, name="worker-output"),
    path("runs/<uuid:run_id>/complete", api.complete, name="worker-complete"),
    path("runs/<uuid:run_id>/release", api.release, name="worker-release"),
    path("launcher/depth", launchers.depth, name="launcher-depth"),
    path("launcher/queues/<slug:name>/depth", launchers.queue_depth, name="launcher-queue-depth"),
    path("launcher/report", launchers.report, name="launcher-report"),
]

"""URLs for launchers of clusters, below /api/worker/v1/launcher/."""

from django.urls import path

from competitions.runs.launcher_api import views

urlpatterns = [
    path("depth", views.depth, name="launcher-depth"),
    path("queues/<slug:name>/depth", views.queue_depth, name="launcher-queue-depth"),
    path("report", views.report, name="launcher-report"),
]

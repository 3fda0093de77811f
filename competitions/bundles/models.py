"""Imports of bundles, so that a browser or a robot can ask how far one has come, and read its report later."""

from django.conf import settings
from django.db import models

from competitions.catalog.models import Competition
from competitions.compute.models import Queue
from competitions.resources.models import StoredFile
from core.background.rows import ClaimedRow


class BundleImport(ClaimedRow):
    """One bundle that somebody sent, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        RUNNING = "running", "running"
        FINISHED = "finished", "imported"
        FAILED = "failed", "refused"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bundle_imports")
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    file_name = models.CharField(max_length=255)
    queue = models.ForeignKey(Queue, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    step = models.CharField(max_length=200, blank=True)
    report = models.JSONField(default=dict, blank=True)
    competition = models.ForeignKey(Competition, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.file_name}: {self.get_state_display()}"

    @property
    def is_over(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)

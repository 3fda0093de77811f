"""Rows that every part of the site leaves for its metrics, and whose turn it is in the background."""

from django.db import models
from django.db.models import Q


class StepFailures(models.Model):
    """Failed rounds of a step of the reconciler, for the metrics, which every process serves."""

    step = models.CharField(max_length=40, primary_key=True)
    count = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.step}: {self.count}"


class Turn(models.Model):
    """An asker's turn on a background queue, kept by `core.background.jobs`."""

    queue = models.CharField(max_length=20)
    asker = models.CharField(max_length=40)
    served_at = models.DateTimeField(null=True, help_text="Empty before the first time.")
    waiting_since = models.DateTimeField(null=True, help_text="Empty while none of its rows waits.")
    claim_id = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True, help_text="One piece of work at a time.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "asker"], name="one_background_turn_per_asker")]
        indexes = [
            models.Index(
                fields=["queue", "served_at", "id"],
                condition=Q(waiting_since__isnull=False),
                name="background_turn_next",
            )
        ]

    def __str__(self) -> str:
        return f"{self.asker} on {self.queue}: {self.served_at}"

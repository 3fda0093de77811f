"""Rows that every part of the site leaves for its metrics and the background, and places in an order."""

from typing import Any

from django.db import models
from django.db.models import Manager, Max, Q, QuerySet


def next_index(rows: QuerySet[Any] | Manager[Any]) -> int:
    """The place behind these rows, which are kept in order by `index`."""
    highest = rows.aggregate(highest=Max("index"))["highest"]
    return 0 if highest is None else highest + 1


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

"""What every part of the site leaves for its metrics."""

from django.db import models


class StepFailures(models.Model):
    """How many rounds of the reconciler failed in a step: for the metrics, which every process answers alike."""

    step = models.CharField(max_length=40, primary_key=True)
    count = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.step}: {self.count}"

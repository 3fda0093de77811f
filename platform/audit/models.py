"""The audit log: one entry for each request of staff that may change something."""

from django.conf import settings
from django.db import models


class AuditEntry(models.Model):
    """Written by the middleware alone, never changed. It outlives the account and what it speaks of."""

    at = models.DateTimeField(db_index=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    actor_name = models.CharField(max_length=150, help_text="As it was then.")
    address = models.GenericIPAddressField(null=True)
    method = models.CharField(max_length=10)
    view = models.CharField(max_length=100, help_text="Name of the URL.")
    path = models.CharField(max_length=500)
    action = models.CharField(max_length=100, blank=True, help_text="Of the admin's actions, which one.")
    fields = models.JSONField(default=dict, help_text="What was sent, cut, without secrets.")
    status = models.PositiveSmallIntegerField(help_text="HTTP status of the answer: 4xx is what was refused.")

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name}: {self.method} {self.path}"

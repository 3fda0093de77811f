"""Webhooks, and each message that one of them is to get."""

import base64
import secrets
import uuid
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.catalog.models import Competition
from competitions.notifications.models import TEAM_KINDS, Kind, organizers_label
from competitions.teams.models import Team
from core.background.rows import AskedRow, asker_key

SECRET_BYTES: Final = 24


def new_secret() -> str:
    """A key for signatures as Standard Webhooks writes it, in base64, without its prefix."""
    return base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


class Webhook(models.Model):
    """An address that a team, or the organizers of a competition (no team), have told of what happens."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    url = models.URLField(max_length=500)
    kinds = models.JSONField(
        default=list, blank=True, help_text="The kinds of notifications that it gets; none selected means all."
    )
    secret = models.CharField(max_length=64, default=new_secret, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    paused_until = models.DateTimeField(
        null=True, blank=True, help_text="After a failure, nothing is sent before this time."
    )
    stopped_at = models.DateTimeField(
        null=True, blank=True, help_text="Turned off: by its owners, or because a message could not be delivered."
    )

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.url

    @property
    def host(self) -> str:
        """The name of the machine, for headings."""
        return urlsplit(self.url).hostname or self.url

    def gets(self, kind: str) -> bool:
        """True if it is told of this kind. A team's is never told what is for one member alone."""
        is_allowed = self.team_id is None or kind in TEAM_KINDS
        return is_allowed and (not self.kinds or kind in self.kinds)

    @property
    def kinds_in_words(self) -> str:
        """The kinds of its messages, for pages."""
        if not self.kinds:
            return "everything" if self.team_id is None else "everything that concerns the team"
        kinds = [Kind(kind) for kind in self.kinds if self.gets(kind)]
        labels = [kind.label if self.team_id else organizers_label(kind) for kind in kinds]
        return ", ".join(labels) or "nothing"

    @property
    def signing_key(self) -> str:
        """The secret as receivers enter it."""
        return f"whsec_{self.secret}"


class WebhookMessage(AskedRow):
    """A message for one webhook, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        DELIVERED = "delivered", "delivered"
        FAILED = "failed", "given up"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="messages")
    key = models.UUIDField(default=uuid.uuid4, editable=False)
    event = models.CharField(max_length=100, help_text="What happened; a webhook is told of an event once.")
    body = models.JSONField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    tries = models.PositiveSmallIntegerField(default=0, help_text="How often it was sent.")
    due_at = models.DateTimeField()
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)
    answer = models.CharField(max_length=300, blank=True, help_text="The outcome of the last try, in words.")

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event"], name="webhook_message_once_per_event"),
            models.CheckConstraint(
                name="webhook_message_settled_unless_waiting",
                condition=Q(state="waiting", settled_at=None) | (~Q(state="waiting") & Q(settled_at__isnull=False)),
            ),
        ]
        indexes = [
            models.Index(fields=["asker", "due_at"], condition=Q(state="waiting"), name="webhook_message_waiting"),
            models.Index(fields=["created_at"], name="webhook_message_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.get_state_display()}"

    def asked_by(self) -> str:
        hook = self.webhook
        return (
            asker_key("competition", hook.competition_id) if hook.team_id is None else asker_key("team", hook.team_id)
        )

    @property
    def kind(self) -> str:
        """The message's kind as receivers read it."""
        body: dict[str, object] = self.body
        return str(body["type"])

"""Notifications, and people's choices of the mails that go with them."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.catalog.models import Competition


class Kind(models.TextChoices):
    """The subject of a notification."""

    RUN = "run", "A submission of mine finished or failed"
    RESCORING = "rescoring", "Submissions of my team are scored again"
    ANNOUNCEMENT = "announcement", "Announcements"
    DEADLINE = "deadline", "A phase ends in three days or in 24 hours, or its end moves"
    INVITATION = "invitation", "Invitations to teams"
    MERGE = "merge", "Merges of teams"
    REGISTRATION = "registration", "Decisions on my registration"
    DISQUALIFICATION = "disqualification", "Disqualifications and reinstatements"
    REVEAL = "reveal", "Sealed scores become public"
    TOPIC = "topic", "New topics in discussions that I follow"
    REPLY = "reply", "Replies in topics that I follow, until I look"
    MENTION = "mention", "Somebody mentions me or my team in a discussion"
    MODERATION = "moderation", "Posts to look at as an organizer, and decisions on mine"
    GPU_HOURS = "gpu_hours", "GPU hours of a competition that I organize run out"
    ACCOUNT = "account", "My account"


CHOSEN_KINDS: Final = tuple(kind for kind in Kind if kind != Kind.ACCOUNT)  # whose mails people choose
# These concern a whole team; the others are between a person and the site.
TEAM_KINDS: Final = (
    Kind.RUN,
    Kind.RESCORING,
    Kind.ANNOUNCEMENT,
    Kind.DEADLINE,
    Kind.MERGE,
    Kind.DISQUALIFICATION,
    Kind.REVEAL,
    Kind.MENTION,
)

# As organizers read them, whose webhooks are told of everybody's; the other kinds are called the same for all.
ORGANIZERS_LABELS: Final = {
    Kind.RUN: "A submission finished or failed",
    Kind.RESCORING: "Submissions of a team are scored again",
    Kind.REGISTRATION: "Decisions on registrations",
    Kind.TOPIC: "New topics in discussions",
    Kind.REPLY: "Replies in discussions",
    Kind.MENTION: "Somebody mentions a person or a team in a discussion",
    Kind.MODERATION: "Posts for organizers to look at, and decisions on posts",
    Kind.GPU_HOURS: "GPU hours of the competition run out",
}


def organizers_label(kind: Kind) -> str:
    """The kind in words that do not speak of the reader."""
    return ORGANIZERS_LABELS.get(kind, kind.label)


class Delivery(models.TextChoices):
    """The mail that goes with a notification; the inbox always has it."""

    AT_ONCE = "at_once", "Mail at once"
    DIGEST = "digest", "Daily digest"
    NONE = "none", "No mail"


class Notification(models.Model):
    """Something that one person was told, once. It holds no score, so that nothing sealed is told by it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    kind = models.CharField(max_length=20, choices=Kind)
    competition = models.ForeignKey(
        Competition,
        on_delete=models.CASCADE,
        null=True,
        related_name="+",
        help_text="None for a message about the person's account.",
    )
    event = models.CharField(max_length=100, help_text="What happened; nobody is told of the same event twice.")
    subject = models.CharField(max_length=300)
    text = models.TextField()
    path = models.CharField(max_length=300, help_text="The page of this site with more about it.")
    delivery = models.CharField(max_length=10, choices=Delivery)
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["user", "-id"], name="notification_inbox"),
            models.Index(fields=["user"], condition=Q(read_at=None), name="notification_unread"),
            models.Index(
                fields=["delivery", "created_at"], condition=Q(mailed_at=None), name="notification_not_mailed"
            ),
            models.Index(fields=["created_at"], name="notification_age"),
        ]
        constraints = [
            models.CheckConstraint(
                name="notification_without_competition_of_account",
                condition=Q(competition__isnull=False) | Q(kind=Kind.ACCOUNT),
            ),
            models.UniqueConstraint(fields=["event", "user"], name="notification_once_per_event_and_person"),
            models.CheckConstraint(
                name="notification_mailed_where_chosen", condition=Q(mailed_at=None) | ~Q(delivery=Delivery.NONE)
            ),
        ]

    def __str__(self) -> str:
        return self.subject


class NotificationPreference(models.Model):
    """One person's choice for one kind; a choice for one competition wins over that for all."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind)
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    delivery = models.CharField(max_length=10, choices=Delivery)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "kind", "competition"],
                condition=Q(competition__isnull=False),
                name="preference_once_per_competition",
            ),
            models.UniqueConstraint(
                fields=["user", "kind"], condition=Q(competition=None), name="preference_once_for_all_competitions"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.get_kind_display()}: {self.get_delivery_display()}"

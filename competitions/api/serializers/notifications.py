"""Notifications over the API."""

from rest_framework import serializers

from competitions.notifications.models import Notification


class NotificationOut(serializers.ModelSerializer[Notification]):
    """A notification."""

    competition = serializers.SlugField(source="competition.slug", read_only=True)
    is_read = serializers.SerializerMethodField()

    class Meta:
        model = Notification
        fields = ["id", "kind", "competition", "subject", "text", "path", "created_at", "is_read"]

    def get_is_read(self, row: Notification) -> bool:
        return row.read_at is not None


class NotificationFilter(serializers.Serializer[None]):
    """Filters of a list of notifications."""

    unread = serializers.BooleanField(default=False)


class NotificationsReadIn(serializers.Serializer[None]):
    """The newest that the person has seen; all older ones count as seen, too."""

    up_to = serializers.IntegerField(min_value=1, max_value=2**63 - 1)

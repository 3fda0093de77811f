"""The inbox over the API."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from competitions.api.framework import IdCursorPagination
from competitions.api.views.base import ApiView, checked
from competitions.notifications.models import Notification
from competitions.notifications.services import details, mark_read


class NotificationOut(serializers.ModelSerializer[Notification]):
    """A notification."""

    competition = serializers.SlugField(
        source="competition.slug", default="", read_only=True, help_text="Empty for one about your account."
    )
    detail = serializers.SerializerMethodField(
        help_text="More as of now: scores and ranks of a finished submission, on leaderboards that are open to everybody."
    )
    is_read = serializers.SerializerMethodField()

    class Meta:
        model = Notification
        fields = ["id", "kind", "competition", "subject", "text", "detail", "path", "created_at", "is_read"]

    def get_detail(self, row: Notification) -> str:
        return str(self.context["details"].get(row.pk, ""))

    def get_is_read(self, row: Notification) -> bool:
        return row.read_at is not None


class NotificationFilter(serializers.Serializer[None]):
    """Filters of a list of notifications."""

    unread = serializers.BooleanField(default=False)


class NotificationsReadIn(serializers.Serializer[None]):
    """The newest that the person has seen; all older ones count as seen, too."""

    up_to = serializers.IntegerField(min_value=1, max_value=2**63 - 1)


class Notifications(ApiView):
    """Your notifications, newest first; with `unread` only those that you have not read."""

    serializer_class = NotificationOut
    pagination_class = IdCursorPagination
    queryset = Notification.objects.none()

    @extend_schema(
        operation_id="notifications_list",
        responses=NotificationOut(many=True),
        parameters=[OpenApiParameter("unread", bool)],
    )
    def get(self, request: Request) -> Response:
        values = checked(NotificationFilter(data=request.query_params))
        rows = Notification.objects.filter(user=self.person()).select_related("competition")
        page = self.paginate_queryset(rows.filter(read_at=None) if values["unread"] else rows) or []
        more = details(page, self.person(), timezone.now())
        return self.get_paginated_response(NotificationOut(page, many=True, context={"details": more}).data)


class NotificationsRead(ApiView):
    """Mark as read everything up to one notification, and nothing that came meanwhile."""

    serializer_class = NotificationsReadIn

    @extend_schema(operation_id="notifications_read", request=NotificationsReadIn, responses={204: None})
    def post(self, request: Request) -> Response:
        user = self.person()
        values = checked(NotificationsReadIn(data=request.data))
        mark_read(user=user, now=timezone.now(), up_to=values["up_to"])
        return Response(status=204)

"""Moderation of a discussion over the API; the audit log has each decision with its reason."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from accounts.models import Scope
from audit.middleware import keep_fields
from competitions.api.serializers import discussions as s
from competitions.api.views.base import checked
from competitions.api.views.discussions import DiscussionView
from competitions.catalog.models import Competition
from competitions.discussions import moderation
from competitions.discussions.models import Post, Report, Topic, Writer
from competitions.discussions.rights import require_discussion


class ModerationView(DiscussionView):
    """A discussion of a competition that the asker organizes."""

    read_scope = write_scope = Scope.ORGANIZE

    def managed(self, slug: str) -> Competition:
        """A competition that the asker organizes, with a discussion here; any other does not exist."""
        competition = self.organized(slug)
        require_discussion(competition)
        return competition

    def decision(self, serializer: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """The values that were sent, which the audit log keeps, also if they are refused."""
        keep_fields(self.received, self.request.data)
        return checked(serializer(data=self.request.data))


class Reports(ModerationView):
    """Open reports of posts, newest first. A post that waits has one of the site, which says why it waits."""

    serializer_class = s.ReportOut
    queryset = Report.objects.none()

    @extend_schema(
        operation_id="reports_list",
        responses=s.ReportOut(many=True),
        parameters=[OpenApiParameter("settled", bool, description="Those that are settled, in place of open ones.")],
    )
    def get(self, request: Request, slug: str) -> Response:
        is_settled = checked(s.ReportFilter(data=request.query_params))["settled"]
        rows: QuerySet[Report] = Report.objects.filter(
            competition=self.managed(slug), settled_at__isnull=not is_settled
        )
        shown = rows.select_related("reporter", "settled_by", "post__author", "post__topic__announcement")
        return self.page_response(shown, s.ReportOut)


class TopicDecision(ModerationView):
    """Pin a topic (at most five), lock it, remove it with its replies, or take that back."""

    serializer_class = s.TopicDecisionIn

    @extend_schema(operation_id="topic_decide", request=s.TopicDecisionIn, responses=s.TopicOut)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        topic = get_object_or_404(Topic, pk=pk, competition=self.managed(slug))
        moderation.topic_decide(topic=topic, now=timezone.now(), **self.decision(s.TopicDecisionIn))
        return Response(s.TopicOut(Topic.objects.select_related("author").get(pk=pk)).data)


class PostDecision(ModerationView):
    """Show a post, remove it with a reason, leave it as it is, or clear its history.

    All but `clear` settle its reports.
    """

    serializer_class = s.PostDecisionIn

    @extend_schema(operation_id="post_decide", request=s.PostDecisionIn, responses=s.PostOut)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        posts = Post.objects.select_related("author", "topic__announcement")
        post = get_object_or_404(posts, pk=pk, topic__competition=self.managed(slug))
        values = self.decision(s.PostDecisionIn)
        moderation.post_decide(
            post=post,
            by=self.person(),
            action=values["action"],
            reason=values["reason"],
            now=timezone.now(),
            seen_version=values["version"],
        )
        return Response(s.PostOut(posts.get(pk=pk)).data)


class Exclusions(ModerationView):
    """People who may not write in a discussion."""

    serializer_class = s.ExclusionOut
    queryset = Writer.objects.none()

    @extend_schema(operation_id="exclusions_list", responses=s.ExclusionOut(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """People who may not write in a discussion, and why."""
        return self.page_response(excluded(self.managed(slug)), s.ExclusionOut)

    @extend_schema(operation_id="exclusions_create", request=s.ExclusionIn, responses={201: s.ExclusionOut})
    def post(self, request: Request, slug: str) -> Response:
        """Exclude somebody from writing, with a reason that they read when they try."""
        competition = self.managed(slug)
        values = self.decision(s.ExclusionIn)
        user = moderation.writer_named(competition, values["username"])
        moderation.writer_ban(
            competition=competition,
            user=user,
            by=self.person(),
            reason=values["reason"],
            removes=values["remove_posts"],
            now=timezone.now(),
        )
        return Response(s.ExclusionOut(excluded(competition).get(user=user)).data, status=201)


class Exclusion(ModerationView):
    """Let somebody write again."""

    serializer_class = s.ExclusionOut

    @extend_schema(operation_id="exclusion_end", request=None, responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        competition = self.managed(slug)
        writer = get_object_or_404(excluded(competition), user__username__iexact=username)
        if not moderation.writer_readmit(competition=competition, user=writer.user):
            raise Http404
        return Response(status=204)


def excluded(competition: Competition) -> QuerySet[Writer]:
    """The standings of those who may not write."""
    return Writer.objects.filter(competition=competition, banned_at__isnull=False).select_related("user", "banned_by")
